"""Counts the members that a migration has still to replace, and decides whether the next may be replaced now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rebalance_agent.advice.migration.migration_findings import Verdict
from rebalance_agent.advice.migration.readiness import MigrationReadiness
from rebalance_agent.model.group import GroupType

__all__ = ["Go", "MigrationStep", "step_of", "way_back"]


class Go(StrEnum):
    """Whether the next member may be replaced."""

    GO = "go"
    WAIT = "wait"
    """A rebalance runs: wait until all members have their partitions."""
    NO_GO = "no-go"
    DONE = "done"
    BACK = "back"
    """The group had members with the consumer protocol, and is classic again."""


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """``classic`` of the group's ``members`` still use the classic protocol. ``reason``: one sentence.

    ``way_back``: how to make the group classic again; None if it is classic or empty.
    """

    go: Go
    classic: int
    members: int
    reason: str
    way_back: str | None = None


def step_of(answer: MigrationReadiness, *, migrated: bool = False) -> MigrationStep:
    """Return the step that the group of ``answer`` has reached. ``migrated``: it had members that had migrated."""
    group = answer.group
    go, reason = _reached(answer, migrated=migrated)
    return MigrationStep(go, len(group.of(GroupType.CLASSIC)), len(group.members), reason, _way_back(answer))


def way_back(answer: MigrationReadiness, *, gradual: bool) -> str:
    """Return how to make the group classic again. ``gradual``: one member after the other, if the brokers allow it."""
    how = "restart the new members" if gradual and answer.back_one_by_one else "stop all members, and start them"
    return f"{how} with the old configuration"


def _way_back(answer: MigrationReadiness) -> str | None:
    group = answer.group
    if group.group_type is not GroupType.CONSUMER or not group.members:
        return None
    return way_back(answer, gradual=bool(group.of(GroupType.CONSUMER)))


def _reached(answer: MigrationReadiness, *, migrated: bool) -> tuple[Go, str]:
    group = answer.group
    if migrated and group.group_type is GroupType.CLASSIC and group.members:
        return Go.BACK, "all members use the classic protocol again"
    if blocking := answer.of(Verdict.BLOCKS):
        return Go.NO_GO, blocking[0].text
    if unsettled := sum(not member.settled for member in group.members):
        count = "1 member does" if unsettled == 1 else f"{unsettled} members do"
        return Go.WAIT, f"{count} not have the newest assignment yet"
    if answer.done and group.members:
        return Go.DONE, "all members use the consumer protocol"
    if answer.online is None:
        return Go.NO_GO, "it is not known whether the brokers allow it"
    if not group.members:
        return Go.GO, "the group is empty: start the members with the consumer protocol"
    which = "next" if group.of(GroupType.CONSUMER) else "first"
    reason = f"all members have their partitions: replace the {which} classic member"
    if answer.none_able:
        reason += (
            "; the new member needs another client, because none of the classic members has a client that supports the "
            "consumer protocol"
        )
    return Go.GO, reason
