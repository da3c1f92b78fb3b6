"""Chooses the properties of a fleet's groups at random; they depend only on the seed and the group's number."""

from __future__ import annotations

import base64
import hashlib
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.group import GroupType

__all__ = [
    "DAYS_MAX",
    "GROUPS_MAX",
    "MEMBERS_MAX",
    "FleetPlan",
    "GroupPlan",
    "MembershipPattern",
    "chance",
    "plan_group",
    "stable_id",
]

GROUPS_MAX = 100_000
"""Maximum number of groups: more than any cluster has."""

DAYS_MAX = 3_660
"""Maximum number of days: ten years."""

MEMBERS_MAX = 60
"""Maximum number of members of a group. Each member makes every generation slower to simulate."""

MONDAY_MS = 1_780_272_000_000
"""2026-06-01 00:00 UTC, a Monday, in epoch milliseconds: the default start of a history."""

_WEEK_MS = 7 * 86_400_000
_Choice = TypeVar("_Choice")


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """Size of a history: ``groups`` groups over ``days`` days from ``since_ms``, a Monday 00:00 UTC in epoch ms."""

    groups: int
    days: int
    seed: int
    since_ms: int = MONDAY_MS

    def __post_init__(self) -> None:
        """Check the bounds; raises `InvalidInputError`."""
        for name, maximum in (("groups", GROUPS_MAX), ("days", DAYS_MAX)):
            if not 1 <= getattr(self, name) <= maximum:
                raise InvalidInputError(name, f"must be between 1 and {maximum}, not {getattr(self, name)}")
        if self.since_ms < 0 or (self.since_ms - MONDAY_MS) % _WEEK_MS:
            raise InvalidInputError("since", "must be a Monday, the first day of a week")

    @property
    def cluster_id(self) -> str:
        """The id of the groups' cluster."""
        return stable_id("cluster", self.seed)


class MembershipPattern(StrEnum):
    """The change of the number of members over a day, without crashes and deploys."""

    STEADY = "steady"
    SCALED = "scaled"
    NIGHTLY = "nightly"


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The properties of one group. Durations are in milliseconds; ``..._per_day`` are expected numbers.

    - ``topics``: topic -> number of partitions. ``static``: members have instance ids.
    - ``reports``: members have sidecars. ``pods``: client ids are pod names, else all members share one client id.
    - ``slow_ms``: processing time of one slow member, 0 for none.
    - ``kubernetes_hashes``: pods' names have the hash of their template as Kubernetes encodes it, so that a deploy is
      recognised without reports.
    - ``surge``: a deploy starts the new member before the old one ends.
    """

    number: int
    name: str
    group_type: GroupType
    assignor: str
    topics: Mapping[str, int]
    members: int
    pattern: MembershipPattern = MembershipPattern.STEADY
    static: bool = False
    reports: bool = False
    pods: bool = True
    kubernetes_hashes: bool = False
    processing_ms: int = 200
    revoked_ms: int = 20
    assigned_ms: int = 10
    slow_ms: int = 0
    session_timeout_ms: int = 45_000
    poll_interval_ms: int = 300_000
    deploys_per_day: float = 0.5
    rolling: bool = True
    surge: bool = True
    crashes_per_day: float = 0.1
    crash_loops_per_day: float = 0.01
    storms_per_day: float = 0.01
    growths_per_day: float = 0.01
    weights: Mapping[str, str] = field(default_factory=dict)


_SERVICES = (
    "billing", "checkout", "orders", "payments", "fraud", "search-index", "inventory", "shipping", "pricing", "ledger",
    "emails", "sessions", "clickstream", "recommendations", "catalog", "audit", "returns", "loyalty", "tax", "risk",
    "invoices", "notifications", "profiles", "media", "telemetry", "ads", "geo", "support", "refunds", "warehouse",
)  # fmt: skip
_ROLES = ("consumer", "projector", "enricher", "sink", "worker", "aggregator", "indexer", "mirror", "notifier", "etl")
_EAGER = ("range", "roundrobin", "sticky", "weighted-sticky", "rack-aware-sticky", "failover", "copartitioned-sticky")
_COOPERATIVE = ("cooperative-sticky", "cooperative-weighted-sticky", "cooperative-rack-aware-sticky")
_PARTITIONS = (6, 8, 10, 12, 12, 16, 24, 24, 30, 32, 48, 64)
_TYPES = (
    (GroupType.CLASSIC, 70),
    (GroupType.CONSUMER, 18),
    (GroupType.STREAMS, 6),
    (GroupType.SHARE, 6),
)


def stable_id(*parts: object) -> str:
    """Return an id in the form of Kafka's topic and cluster ids: 22 characters, a hash of ``parts``."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def plan_group(fleet: FleetPlan, number: int) -> GroupPlan:
    """Return a random plan of group ``number``, which depends only on the seed and the number."""
    rng = random.Random(f"{fleet.seed}/{number}")  # noqa: S311 - no secret
    service, role = rng.choice(_SERVICES), rng.choice(_ROLES)
    group_type = GroupType.CLASSIC if number < 1 else _weighted(rng, _TYPES)
    clustered = group_type is GroupType.CLASSIC and (number == 0 or chance(rng, 12))
    members = min(MEMBERS_MAX, max(1, round(math.exp(rng.gauss(1.35, 0.75)))))
    if clustered:
        members = max(4, members)
    topics = _topics(rng, service, members if clustered else None)
    static = group_type is GroupType.CLASSIC and not clustered and chance(rng, 15)
    busy = chance(rng, 8)
    assignor = "range" if clustered else _assignor(rng, group_type)
    return GroupPlan(
        number=number,
        name=f"{service}-{role}-{number}",
        group_type=group_type,
        assignor=assignor,
        topics=topics,
        members=members,
        pattern=_weighted(
            rng, ((MembershipPattern.STEADY, 55), (MembershipPattern.SCALED, 35), (MembershipPattern.NIGHTLY, 10))
        ),
        static=static,
        reports=chance(rng, 25),
        pods=static or chance(rng, 60),
        processing_ms=round(math.exp(rng.gauss(5.6, 1.2))),
        revoked_ms=round(math.exp(rng.gauss(3.5, 1.3))),
        assigned_ms=round(math.exp(rng.gauss(3.0, 1.2))),
        slow_ms=rng.randrange(8_000, 90_000) if chance(rng, 10) else 0,
        session_timeout_ms=rng.choice((10_000, 30_000, 45_000, 45_000)),
        deploys_per_day=rng.choice((0.1, 0.2, 0.5, 1.0, 1.0, 2.0)),
        rolling=chance(rng, 85),
        surge=not static and chance(rng, 70),
        crashes_per_day=rng.choice((0.02, 0.05, 0.1, 0.5)),
        crash_loops_per_day=0.5 if busy else 0.01,
        storms_per_day=0.4 if busy else 0.01,
        growths_per_day=0.02,
        weights={"assignment.consumer.weight": "2"} if "weighted" in assignor else {},
    )


def chance(rng: random.Random, percent: int) -> bool:
    """Return True with a probability of ``percent``."""
    return rng.random() * 100 < percent


def _topics(rng: random.Random, service: str, clustered: int | None) -> dict[str, int]:
    """Return topic -> partitions. With ``clustered`` (a number of members), `range` overloads the first of them."""
    if clustered:
        counts = [rng.choice((clustered // 2 + 1, clustered + 1))] * rng.choice((4, 5, 6))
    else:
        counts = [rng.choice(_PARTITIONS) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
    kinds = ("events", "commands", "updates", "retries", "changes", "facts")
    return {f"{service}.{kind}": count for kind, count in zip(kinds, counts, strict=False)}


def _assignor(rng: random.Random, group_type: GroupType) -> str:
    if group_type is GroupType.CONSUMER:
        return rng.choice(("uniform", "uniform", "range"))
    if group_type is not GroupType.CLASSIC:
        return ""
    if chance(rng, 40):
        return rng.choice(_COOPERATIVE)
    return "range" if chance(rng, 50) else rng.choice(_EAGER)


def _weighted(rng: random.Random, choices: tuple[tuple[_Choice, int], ...]) -> _Choice:
    return rng.choices([value for value, _ in choices], [weight for _, weight in choices])[0]
