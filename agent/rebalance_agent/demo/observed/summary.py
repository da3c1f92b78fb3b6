"""The result of the demo as one value: each group, each step with its episodes, and the differences found by the check.

`to_json` is the form of ``--summary FILE``; the closing tables show the same value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rebalance_agent.demo.observed.claims_check import (
    Claim,
    CoordinatorView,
    SeenEpisode,
    SeenStep,
    group_differences,
    step_differences,
    strategy_differences,
)
from rebalance_agent.demo.observed.gauges import GroupGauges
from rebalance_agent.demo.stories import SlowDown, StoryGroup
from rebalance_agent.demo.timetable import StepRun
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.partitions import count_partitions

__all__ = [
    "NOT_CHECKED",
    "OK",
    "GroupOutcome",
    "Summary",
    "claim_of",
    "seen_episode",
    "seen_steps",
    "summarise",
    "to_json",
]

OK = "ok"
NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """One group at the end. ``members``: client id -> number of partitions; ``stall_seconds``: of each episode."""

    client: str
    assignor: str
    group_type: str | None
    generation: int | None
    members: Mapping[str, int]
    rebalances: int
    stall_seconds: tuple[float, ...]
    check: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The groups by name, the steps in order, each with the result of its check, and all differences."""

    groups: Mapping[str, GroupOutcome]
    steps: tuple[tuple[SeenStep, str], ...]
    differences: tuple[str, ...]


def claim_of(newest: GenerationEvent | None, gauges: GroupGauges) -> Claim:
    """Return what the agent reports of a group, from its newest event and its gauges."""
    members = newest.members if newest else ()
    return Claim(
        group_type=newest.group_type if newest else None,
        generation=newest.generation if newest else None,
        protocol=newest.assignor if newest else None,
        assignment={member.member_id: member.assigned for member in members},
        clients={member.member_id: member.client_id for member in members},
        gauge_generation=gauges.generation,
        gauge_members=gauges.members,
        gauge_owned=gauges.owned,
    )


def seen_episode(event: GenerationEvent) -> SeenEpisode:
    """Return an episode from its closing event."""
    clients = {member.member_id: member.client_id for member in event.members}
    return SeenEpisode(
        group=event.group,
        trigger=event.trigger,
        generation=event.generation,
        causes=event.causes,
        stall_seconds=event.stall.seconds if event.stall else None,
        basis=event.stall.basis if event.stall else None,
        slowest_client_id=clients.get(event.slowest_member_id or ""),
        partitions={member.client_id: count_partitions(member.assigned) for member in event.members},
    )


def seen_steps(runs: Sequence[StepRun], episodes: Mapping[str, Sequence[SeenEpisode]]) -> tuple[SeenStep, ...]:
    """Return each step with the episodes of its groups between its start and the start of the group's next step."""
    steps = []
    for index, run in enumerate(runs):
        seen: list[SeenEpisode] = []
        for group, after in run.after.items():
            until = next((later.after[group] for later in runs[index + 1 :] if group in later.after), math.inf)
            seen += [episode for episode in episodes[group] if after < episode.generation <= until]
        steps.append(SeenStep(run.step.name, run.step.expected, tuple(seen), run.step.slow, run.problem))
    return tuple(steps)


def summarise(
    groups: tuple[StoryGroup, ...],
    claims: Mapping[str, Claim],
    episodes: Mapping[str, list[SeenEpisode]],
    steps: tuple[SeenStep, ...],
    words: Mapping[str, CoordinatorView] | None,
) -> Summary:
    """Build the summary. Without the coordinator's ``words``, differences are shown at their step only."""
    differences: list[str] = []
    rows = {}
    for group in groups:
        claim, seen, lines = claims[group.name], episodes[group.name], []
        if words is not None:
            theirs = words[group.name]
            lines = [*group_differences(claim, theirs), *strategy_differences(group.assignor, theirs)]
            differences += [f"group {group.name}: {line}" for line in lines]
        rows[group.name] = GroupOutcome(
            client=group.client,
            assignor=claim.protocol or group.assignor,
            group_type=claim.group_type,
            generation=claim.generation,
            members=_counts(claim),
            rebalances=len(seen),
            stall_seconds=tuple(episode.stall_seconds for episode in seen if episode.stall_seconds is not None),
            check=NOT_CHECKED if words is None else "; ".join(lines) or OK,
        )
    checked = [(step, step_differences(step)) for step in steps]
    if words is not None:
        differences += [f"step {step.name}: {line}" for step, lines in checked for line in lines]
    return Summary(rows, tuple((step, "; ".join(lines) or OK) for step, lines in checked), tuple(differences))


def _counts(claim: Claim) -> dict[str, int]:
    counts = {claim.clients[member]: count_partitions(owned) for member, owned in claim.assignment.items()}
    return dict(sorted(counts.items()))


def to_json(summary: Summary) -> dict[str, Any]:
    """Return the JSON form of the summary, for ``--summary FILE``."""
    slow = ((step.seen, step.slow) for step, _ in summary.steps if step.slow is not None)
    return {
        "groups": {name: asdict(group) for name, group in summary.groups.items()},
        "steps": [
            {
                "name": step.name,
                "expected": [{"group": expected.group, "trigger": expected.trigger} for expected in step.expected],
                "seen": [_episode_json(episode) for episode in step.seen],
                "check": check,
            }
            for step, check in summary.steps
        ],
        "slow_consumer": next((_slow_json(*found) for found in slow), None),
        "differences": list(summary.differences),
    }


def _episode_json(episode: SeenEpisode) -> dict[str, Any]:
    fields = asdict(episode)
    del fields["partitions"]
    return fields | {"slowest": fields.pop("slowest_client_id")}


def _slow_json(seen: Sequence[SeenEpisode], slow: SlowDown) -> dict[str, Any]:
    episode = next((episode for episode in seen if episode.group == slow.group), None)
    return {
        "client_id": episode.slowest_client_id if episode else None,
        "group": slow.group,
        "delay_seconds": slow.seconds,
        "stall_seconds": episode.stall_seconds if episode else None,
        "basis": episode.basis if episode else None,
    }
