"""Events of every kind, as JSON objects, from which damaged ones are made."""

from __future__ import annotations

import json
from pathlib import Path

from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.episode import Evidence, Source
from rebalance_agent.model.event_json import event_to_json
from rebalance_agent.model.events import AssignEvent, Callback, MemberEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.led_generation import LedGenerationEvent, LedMember
from rebalance_agent.model.reported.seat_event import Act, ActOutcome, SeatEvent, SeatOccupant
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.model.rollout import RolloutEvent
from support.pipeline.event_rows import MONDAY_MS, aborted, generation, gone, member, random_history

GOLDEN = Path(__file__).parents[2] / "golden" / "captured_topic_events.ndjson"
WHERE = Workload(pod="orders-1", node="node-1", workload="orders", image="registry.example/orders:1.2.0")
_FULL = member(
    "b",
    (2, 3, 7),
    (0, 1, 9, 25),
    instance_id="i",
    rack="r",
    user_data=b"\0\1\2\3",
    subscription_version=3,
    session_timeout_ms=45_000,
    rebalance_timeout_ms=300_000,
    stop_seconds=0.25,
    where=WHERE,
    occupant=SeatOccupant("c", "/10.0.0.7", MONDAY_MS),
)
EVENTS = [
    *random_history(3, group="g"),
    generation(MONDAY_MS, 7, [member("a", range(2)), _FULL], stall=(1.5, 2.25), started=MONDAY_MS, skew_ratio=1.25),
    generation(MONDAY_MS, 7, [_FULL], part=1, parts=3, partitions=99),
    generation(MONDAY_MS, 8, skew_ratio=4 / 3),
    aborted(MONDAY_MS, 3),
    gone(MONDAY_MS),
    RolloutEvent(
        "id", "c", "g", MONDAY_MS, Source.RECORDS, GroupType.CLASSIC, MONDAY_MS, 2, 7, True, 6, 3, 3, 12.5, 2.5,
        "orders", ("orders:1",), ("orders:2", "orders:3"), 1,
    ),
    MemberEvent(
        "id", "g", MONDAY_MS, Callback.REVOKED, "c", "m", 3, MONDAY_MS, {"s": (0,), "t": (0, 1, 2, 7)}, "p", 0,
        where=WHERE, join_seconds=0.0, sync_seconds=0.125, evidence=Evidence.GATEWAY, rejected_commits=2,
    ),
    AssignEvent(
        "id", "g", MONDAY_MS, "range", "c", 4, 0.25, 2, 9, "p", 1,
        quality=AssignmentQuality(1, 1.5, None, 0, 2, 2, 0, {"s": 1.0, "t": 0.5}), user_data_errors={"m": "bad"},
    ),
    SeatEvent("id", "g", MONDAY_MS, Act.HANDOVER, ActOutcome.RIGHT, "m", "p", 3, partition_seconds_spared=12.5),
    LedGenerationEvent(
        "id", "g", MONDAY_MS, 4, "range", "m", MONDAY_MS, (LedMember("m", b"\0\3", b"\0"),), 45_000, 300_000, "p", 5
    ),
]  # fmt: skip
MODELS = [*map(json.loads, GOLDEN.read_bytes().splitlines()), *map(event_to_json, EVENTS)]
