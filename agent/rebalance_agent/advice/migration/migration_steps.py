"""Counts the members that a migration has still to replace, and decides whether the next may be replaced now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rebalance_agent.advice.migration.migration_findings import Verdict
from rebalance_agent.advice.migration.readiness import MigrationReadiness
from rebalance_agent.model.group import GroupType

__all__ = ["Go", "MigrationStep", "step_of"]


class Go(StrEnum):
    """Whether the next member may be replaced."""

    GO = "go"
    WAIT = "wait"
    """A rebalance runs: wait until all members have their partitions."""
    NO_GO = "no-go"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class MigrationStep:
    """``classic`` of the group's ``members`` still use the classic protocol. ``reason``: one sentence."""

    go: Go
    classic: int
    members: int
    reason: str


def step_of(answer: MigrationReadiness) -> MigrationStep:
    """Return the step that the group of ``answer`` has reached."""
    group = answer.group
    classic, members = len(group.of(GroupType.CLASSIC)), len(group.members)
    if blocking := answer.of(Verdict.BLOCKS):
        return MigrationStep(Go.NO_GO, classic, members, blocking[0].text)
    if unsettled := sum(not member.settled for member in group.members):
        count = "1 member does" if unsettled == 1 else f"{unsettled} members do"
        return MigrationStep(Go.WAIT, classic, members, f"{count} not have the newest assignment yet")
    if answer.done:
        return MigrationStep(Go.DONE, classic, members, "all members use the consumer protocol")
    if answer.online is None:
        return MigrationStep(Go.NO_GO, classic, members, "it is not known whether the brokers allow it")
    if not members:
        return MigrationStep(
            Go.GO, classic, members, "the group is empty: start the members with the consumer protocol"
        )
    which = "next" if group.of(GroupType.CONSUMER) else "first"
    reason = f"all members have their partitions: replace the {which} classic member"
    if answer.none_able:
        reason += (
            "; the new member needs another client, because none of the classic members has a client that supports the "
            "consumer protocol"
        )
    return MigrationStep(Go.GO, classic, members, reason)
