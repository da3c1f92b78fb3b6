"""The groups of a quiet fleet: none fails, and all are deployed, scaled and moved as groups usually are."""

from __future__ import annotations

import random
from dataclasses import replace

from rebalance_agent.model.group import GroupType
from rebalance_agent.testing.synthetic.fleet_plan import MembershipPattern, plan_group

__all__ = ["GATEWAY", "KINDS", "NIGHTLY", "POLLED", "plan_of"]

GATEWAY, NIGHTLY, POLLED = "behind a gateway", "scaled to zero", "only polled"

KINDS = {
    "eager": (GroupType.CLASSIC, ("range", "roundrobin", "sticky")),
    "cooperative": (GroupType.CLASSIC, ("cooperative-sticky",)),
    "static": (GroupType.CLASSIC, ("range", "cooperative-sticky")),
    GATEWAY: (GroupType.CLASSIC, ("range", "sticky")),
    "consumer": (GroupType.CONSUMER, ("uniform", "range")),
    "streams": (GroupType.STREAMS, ("",)),
    "share": (GroupType.SHARE, ("",)),
    POLLED: (GroupType.CLASSIC, ("range", "cooperative-sticky")),
    NIGHTLY: (GroupType.CLASSIC, ("range", "cooperative-sticky")),
}
"""Kind -> type, and possible assignors."""

STATIC = ("static", GATEWAY)
"""A gateway gives its groups' members instance ids."""

SILENT = ("share", GATEWAY, POLLED)
"""Kinds without members that report: consumers of share groups have no callbacks, and the tracker uses reports only
beside records of the group."""

MEMBERS_MAX = 40
PARTITIONS = (6, 12, 24, 48)


def plan_of(fleet, kind, number):
    """The plan of one group of a kind. Half of the groups are autoscaled. Half of them report, if their kind can."""
    base = plan_group(fleet, list(KINDS).index(kind) * 10_000 + number)
    rng = random.Random(f"{fleet.seed}/{base.number}/quiet")
    group_type, assignors = KINDS[kind]
    members = min(MEMBERS_MAX, max(2, base.members))
    count = rng.choice([each for each in PARTITIONS if each >= members])
    # There is no model of Kafka Streams' own assignor, which distributes each topic over all members.
    topics = ("events",) if kind == "streams" else rng.choice((("events",), ("events",), ("events", "updates")))
    static = kind in STATIC
    scaled = MembershipPattern.SCALED if number % 2 else MembershipPattern.STEADY
    return replace(
        base,
        name=f"{kind.replace(' ', '-')}-{number}",
        group_type=group_type,
        assignor=rng.choice(assignors),
        topics=dict.fromkeys(topics, count),
        members=members,
        pattern=MembershipPattern.NIGHTLY if kind == NIGHTLY else scaled,
        static=static,
        pods=static or base.pods,
        kubernetes_hashes=True,
        surge=base.surge and not static,
        reports=number % 4 < 2 and kind not in SILENT,
        processing_ms=min(base.processing_ms, 3_000),
        revoked_ms=min(base.revoked_ms, 1_000),
        slow_ms=0,
        deploys_per_day=2.0,
        crashes_per_day=0,
        crash_loops_per_day=0,
        storms_per_day=0,
        growths_per_day=0,
        weights={},
    )
