"""Counts the members that are not replaced yet, on either way, and decides whether the next may be replaced now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rebalance_agent.advice.migration.broker_limits import POLICY
from rebalance_agent.advice.migration.migrating_group import MigratingGroup
from rebalance_agent.advice.migration.migration_findings import Subject, Verdict
from rebalance_agent.advice.migration.readiness import MigrationReadiness
from rebalance_agent.model.group import GroupType

__all__ = ["Go", "MigrationStep", "back_step_of", "step_of", "way_back"]

SIZE = "group.max.size"
"""The brokers' setting that limits a classic group's members: a larger group does not become classic."""


class Go(StrEnum):
    """Whether the next member may be replaced."""

    GO = "go"
    WAIT = "wait"
    """A rebalance runs: wait until all members have their partitions."""
    NO_GO = "no-go"
    DONE = "done"
    BACK = "back"
    """The group is classic: it had members with the consumer protocol, or its way back is followed."""


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """``classic`` of the group's ``members`` still use the classic protocol. ``reason``: one sentence.

    ``way_back``: how to make the group classic again; None if it is classic or empty, or if ``go`` and ``reason``
    describe the way back.
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


def back_step_of(answer: MigrationReadiness) -> MigrationStep:
    """Return the step that the group of ``answer`` has reached on its way back to the classic protocol.

    ``way_back`` is set only if the group must stop to become classic.
    """
    group = answer.group
    go, reason = _reached_back(answer)
    way = _way_back(answer) if go is Go.NO_GO and answer.online_back is not None else None
    return MigrationStep(go, len(group.of(GroupType.CLASSIC)), len(group.members), reason, way)


def way_back(answer: MigrationReadiness, *, gradual: bool) -> str:
    """Return how to make the group classic again. ``gradual``: one member after the other, if the brokers allow it."""
    gradual = gradual and answer.online_back is not False
    how = "restart the new members" if gradual else "stop all members, and start them"
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
    if unsettled := _unsettled(group):
        return Go.WAIT, unsettled
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


def _reached_back(answer: MigrationReadiness) -> tuple[Go, str]:
    group = answer.group
    if group.group_type is GroupType.CLASSIC:
        members = "all members use the classic protocol again"
        return Go.BACK, members if group.members else "the group is classic and empty"
    if other := [finding for finding in answer.findings if finding.subject is Subject.GROUP_TYPE]:
        return Go.NO_GO, other[0].text
    if not group.members:
        return Go.GO, "the group is empty: start the members with the old configuration"
    if forbidden := [finding for finding in answer.findings if finding.subject is Subject.WAY_BACK]:
        return Go.NO_GO, forbidden[0].text
    if unsettled := _unsettled(group):
        return Go.WAIT, unsettled
    if not group.of(GroupType.CONSUMER):
        return Go.NO_GO, f"the brokers have not made the group classic; it may have more members than {SIZE} allows"
    if answer.online_back is None:
        return Go.NO_GO, f"it is not known whether the brokers allow it, because {POLICY} could not be read"
    which = "next" if group.of(GroupType.CLASSIC) else "first"
    return Go.GO, f"all members have their partitions: replace the {which} member that uses the consumer protocol"


def _unsettled(group: MigratingGroup) -> str:
    """Return how many members do not have the newest assignment; empty if all have it."""
    unsettled = sum(not member.settled for member in group.members)
    count = "1 member does" if unsettled == 1 else f"{unsettled} members do"
    return f"{count} not have the newest assignment yet" if unsettled else ""
