"""Bounds times in periods when coordinators answer late: while brokers are down, or after a change of coordinator.

A coordinator answers a commit when the other replicas have its record. While brokers are down, commits wait. Afterwards
clients send all waiting commits again, so that offsets determined seconds apart get nearly the same timestamp.
"""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_agent.model.group import Member
from rebalance_agent.tracking.evidence.commits.slow_answers import BACKLOG_MS, COMMIT_DELAY_MS, backlog_ms
from rebalance_agent.tracking.evidence.known_times import CoordinatorChange, Outage
from rebalance_agent.tracking.evidence.unrecorded_losses import silent_ms

__all__ = ["COMMITS_LATE_MAX_MS", "WRITE_TIMEOUT_MS", "removal_noticed_ms", "surely_worked_ms"]

COMMITS_LATE_MAX_MS = 300_000
"""How long (ms) commits may be late after a broker went down. A cluster that lacks the broker for longer works
normally."""

WRITE_TIMEOUT_MS = 5_000
"""How long (ms) a coordinator waits for other replicas to have a record before it answers with an error: Kafka's
default of ``offsets.commit.timeout.ms``."""


def surely_worked_ms(
    worked_ms: int | None, changes: Iterable[CoordinatorChange], outages: Iterable[Outage]
) -> int | None:
    """Return the time until which a member certainly worked, by its commits until ``worked_ms``, which may be late."""
    late = [(change.after_ms, change.until_ms + BACKLOG_MS) for change in changes]
    for away in outages:
        until_ms = min(away.until_ms, away.after_ms + COMMITS_LATE_MAX_MS)
        late.append((away.after_ms, until_ms + (backlog_ms(away.after_ms, until_ms) if away.slow else BACKLOG_MS)))
    for after_ms, until_ms in sorted(late, reverse=True):
        if worked_ms is not None and after_ms < worked_ms <= until_ms:
            worked_ms = after_ms - COMMIT_DELAY_MS
    return worked_ms


def removal_noticed_ms(
    removed_ms: int, member: Member, unanswered: Iterable[Outage | CoordinatorChange], *, expelled: bool = False
) -> int:
    """Return the latest time when a member that continued to work detected its removal: usually at once.

    ``expelled``: the member was removed because it did not rejoin or revoke in time. It may have been in contact: then
    the answer to a heartbeat, within its session timeout, is the first sign of the removal. If the coordinator may not
    have answered the member before that (``unanswered``), the member detects it within its session timeout after its
    removal, and after the brokers are back. Such a member is removed after its session timeout, or because it does not
    rejoin in time.
    """
    session_ms = member.session_timeout_ms
    back_ms = [
        max(removed_ms, away.until_ms)
        for away in unanswered
        if away.after_ms - session_ms <= removed_ms <= away.until_ms + silent_ms(member)
    ]
    if expelled:
        back_ms.append(removed_ms)
    return max([removed_ms, *(at_ms + session_ms for at_ms in back_ms)])
