"""Events with numbers that later stages cannot process are rejected on input, or every later run would fail."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.episode import FailureReason, Source
from rebalance_agent.model.event_json import PARTITIONS_MAX, event_from_json
from rebalance_agent.model.events import AbortedEvent, GenerationEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.ingest.number_limits import require_bounds

LINES = (Path(__file__).parents[2] / "golden" / "captured_topic_events.ndjson").read_text().splitlines()
GENERATION = next(
    event
    for event in (event_from_json(json.loads(line)) for line in LINES)
    if isinstance(event, GenerationEvent) and event.members
)
NOW_MS = GENERATION.timestamp_ms
ABORTED = AbortedEvent("id", "c", "g", NOW_MS, Source.RECORDS, GroupType.CLASSIC, 4, FailureReason.ABORTED)
ROLLOUT = RolloutEvent(
    "id", "c", "g", NOW_MS, Source.RECORDS, GroupType.CLASSIC, NOW_MS - 1, 1, 2, True, 2, 2, 2, 0.5
)  # fmt: skip


@pytest.mark.parametrize("event", [GENERATION, ABORTED, ROLLOUT])
def test_published_events_are_within_the_limits(event):
    require_bounds(event)


@pytest.mark.parametrize(
    ("event", "field"),
    [
        *(
            (replace(GENERATION, **{name: value}), name)
            for name in (
                "followups",
                "moved",
                "needed",
                "revoked",
                "assigned",
                "lost",
                "lost_min",
                "unassigned",
                "imbalance",
            )
            for value in (2**31, -1)
        ),
        *(
            (replace(GENERATION, **{name: value}), name)
            for name in ("generation", "previous_generation", "episode_generation")
            for value in (2**31, -(2**31) - 1)
        ),
        *(
            (replace(GENERATION, phases=replace(GENERATION.phases, **{name: value})), f"phases.{name}")
            for name in ("started_ms", "joined_ms", "completed_ms")
            for value in (2**60, -1)
        ),
        *(
            (replace(GENERATION, members=(replace(GENERATION.members[0], **{name: 2**31}),)), f"members.{name}")
            for name in ("session_timeout_ms", "rebalance_timeout_ms")
        ),
        (replace(GENERATION, topics={"a": 2**30, "b": 2**30}), "topics"),
        (replace(GENERATION, topics={"a": PARTITIONS_MAX, "b": 1}, unassigned=PARTITIONS_MAX + 1), "topics"),
        (replace(GENERATION, topics={"a": -1, "b": 2}), "topics"),
        (replace(GENERATION, topics={"t" * 50_001: 1}), "topics"),
        *(
            (replace(GENERATION, members=(replace(GENERATION.members[0], **{name: {"t" * 50_001: (0,)}}),)), "topics")
            for name in ("owned", "assigned")
        ),
        (replace(GENERATION, parts=0), "part"),
        *(
            (replace(GENERATION, **{name: value}), name)
            for name in ("slowest_seconds", "slowest_lower_seconds", "skew_ratio")
            for value in (-0.1, 1e11)
        ),
        *(
            (replace(GENERATION, stall=replace(GENERATION.stall, **{name: value})), f"stall.{name}")
            for name in ("lower_seconds", "seconds", "partition_seconds", "upper_partition_seconds")
            for value in (-0.1, 1e20)
        ),
        (replace(GENERATION, stall=replace(GENERATION.stall, lower_seconds=2.0, seconds=1.0)), "stall.lower_seconds"),
        (replace(GENERATION, closes_episode=False), "stall"),
        (replace(GENERATION, episode_generation=GENERATION.generation + 1), "episode_generation"),
        (replace(GENERATION, phases=replace(GENERATION.phases, completed_ms=NOW_MS - 86_400_000)), "phases.started_ms"),
        *(
            (replace(GENERATION, members=(replace(GENERATION.members[0], stop_seconds=value),)), "members.stop_seconds")
            for value in (-0.1, 1e11)
        ),
        (replace(GENERATION, members=GENERATION.members * 2), "members"),
        (
            replace(
                GENERATION,
                members=tuple(replace(GENERATION.members[0], member_id=name) for name in ("m\ud800", "m\ud801")),
            ),
            "members",
        ),
        (replace(GENERATION, members=()), "unassigned"),
        (replace(ABORTED, generations=2**31), "generations"),
        (replace(ABORTED, generation=2**31), "generation"),
        (replace(ROLLOUT, started_ms=2**60), "started_ms"),
        (replace(ROLLOUT, revision=2**31), "revision"),
        (replace(ROLLOUT, stall_seconds=1e11), "stall_seconds"),
        (replace(ROLLOUT, stalled_partition_seconds=-1.0), "stalled_partition_seconds"),
    ],
)
def test_numbers_that_no_column_can_hold_or_that_are_inconsistent_are_refused_by_name(event, field):
    with pytest.raises(InvalidInputError) as refused:
        require_bounds(event)
    assert refused.value.field == field


def test_a_group_may_have_all_partitions_of_a_large_cluster():
    require_bounds(replace(GENERATION, topics={"a": PARTITIONS_MAX - 1, "b": 1}, unassigned=PARTITIONS_MAX))


def test_a_part_need_not_satisfy_conditions_of_the_whole_event():
    require_bounds(replace(GENERATION, members=(), parts=2))
