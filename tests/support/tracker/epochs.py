"""Records of an epoch group in a short notation. Times are milliseconds since `T0`."""

from __future__ import annotations

from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochMember,
    GroupEpoch,
    MemberState,
    MemberTarget,
    TargetEpoch,
)
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.observations import EpochRecord
from support.tracker.tracking import T0, WHOLE, topics

ID = "xNisCZDKRhC5aWJ3a-s-yA"


def fact(at, value, subject="", kind=None, live=True, group_type=GroupType.CONSUMER):
    """One record of an epoch group; without a value: a tombstone of that ``kind``."""
    kind = kind or type(value)
    return EpochRecord("g", T0 + at, T0 + at + 3, group_type, kind, value, subject, 0, live)


def gone(at, subject, *kinds):
    """The tombstones of a member."""
    return [fact(at, None, subject, kind) for kind in kinds or (CurrentAssignment, MemberTarget, EpochMember)]


def deleted(at):
    """The tombstones of the group itself, after its members'."""
    return [fact(at, None, kind=TargetEpoch), fact(at, None, kind=GroupEpoch)]


def joins(at, name, **fields):
    """The record of a new member."""
    return fact(at, EpochMember(f"client-{name}", "/10.0.0.1", topics=("t",), **fields), name)


def target(at, name, *numbers):
    """The target assignment of a member."""
    return fact(at, MemberTarget({ID: numbers} if numbers else {}), name)


def current(at, name, epoch, numbers=(), revoking=(), state=MemberState.STABLE, live=True):
    """The current assignment of a member."""
    return fact(
        at,
        CurrentAssignment(
            epoch, epoch - 1, state, {ID: tuple(numbers)} if numbers else {}, {ID: tuple(revoking)} if revoking else {}
        ),
        name,
        live=live,
    )


def named(at=0, **counts):
    """The cluster's topics, with the id of ``t``."""
    seen = topics(at, **(counts or {"t": 4}))
    return type(seen)(seen.at_ms, seen.partitions, {"t": ID})


def group_of_two(a=(0,), b=(1,), **fields):
    """The members a (with ``fields``) and b have reached epoch 2 with these partitions of t, which has no others."""
    return [
        WHOLE,
        named(t=len(a) + len(b)),
        joins(1_000, "a", **fields),
        joins(1_000, "b"),
        fact(1_000, GroupEpoch(2)),
        target(1_000, "a", *a),
        target(1_000, "b", *b),
        fact(1_000, TargetEpoch(2)),
        *(
            fact(1_000, CurrentAssignment(2, 0, MemberState.STABLE, current(0, name, 2, has).value.assigned), name)
            for name, has in (("a", a), ("b", b))
        ),
    ]
