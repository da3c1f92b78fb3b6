"""Infers from commits and timeouts how a member departed, since records do not distinguish leaving from expiry. Pure.

A member that commits is alive: unless it leaves, it is removed one session timeout later at the earliest. A member
failed if it committed regularly, stopped, and was removed when that timeout expired.

A new coordinator restarts all timeouts, and earlier times are from another broker's clock. So nothing is inferred from
a timeout during which the coordinator may have changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rebalance_agent.model.group import Member
from rebalance_agent.model.member_changes import member_changes
from rebalance_agent.model.partitions import pairs
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.evidence.commits.commit_times import CommitTimes, RecentCommits
from rebalance_agent.tracking.evidence.coordinators import changed_since
from rebalance_agent.tracking.evidence.known_times import CoordinatorChange, Departure, TimeBounds

__all__ = ["EXPIRY_SLACK_MS", "Removal", "Timeouts", "by_commits", "departures", "kept_waiting"]

EXPIRY_SLACK_MS = 1_000
"""How long (ms) after a timeout the coordinator may remove a member, because of timers and network delay."""


class Removal(NamedTuple):
    """The time when the coordinator removed a member (epoch ms): between ``earliest_ms`` and ``latest_ms``.

    In a rebalance that other members began, the removal may have been later, but not after ``until_ms``.
    """

    earliest_ms: int
    latest_ms: int
    until_ms: int


class Timeouts(NamedTuple):
    """The timeouts of a member (ms).

    The member is removed ``session_ms`` after its last contact, which may be up to ``heartbeat_ms`` before its last
    commit, and ``poll_ms`` after its last poll (negative if unknown). ``session_min_ms``: a lower bound of the session
    timeout.
    """

    session_ms: int
    session_min_ms: int
    poll_ms: int
    heartbeat_ms: int = 0


def departures(before: Generation, generation: Generation, commits: CommitTimes) -> dict[str, Departure]:
    """Return how members of the classic group departed from ``before`` to ``generation``, by member id."""
    start = generation.start
    if start is None:
        return {}
    removal, timeout_ms = _removal(start, generation), _timeout_ms(before, generation)
    waited = kept_waiting(before, generation)
    gone = member_changes(before.members, generation.members).gone
    if waited and removal.until_ms - start.latest_ms >= timeout_ms - EXPIRY_SLACK_MS and len(gone) == 1:
        # The other members waited only for this member. A member that had died would have been removed sooner.
        sooner = gone[0].session_timeout_ms < timeout_ms
        anew = changed_since(start.earliest_ms, generation.coordinator_changes)
        return {gone[0].member_id: Departure.EXPELLED} if sooner and not anew else {}
    shown: dict[str, Departure] = {}
    for member in gone:
        how = _departure(member, before, generation, commits, removal)
        # Even a member that commits is removed if the others waited for it until the rebalance timeout.
        if how is not Departure.UNKNOWN and not (how is Departure.LEFT and waited):
            shown[member.member_id] = how
    return shown


def kept_waiting(before: Generation | None, generation: Generation) -> bool:
    """Whether the others may have waited for departed members until the rebalance timeout expelled these members."""
    start = generation.start
    if start is None or before is None:
        return False
    return _removal(start, generation).until_ms - start.earliest_ms >= _timeout_ms(before, generation)


def by_commits(
    recent: RecentCommits | None, timeouts: Timeouts, removal: Removal, changes: Iterable[CoordinatorChange] = ()
) -> Departure:
    """Return how a member departed; ``recent``: its last commits (None if it did not commit).

    ``changes``: the changes of its coordinator until its removal. `Departure.SILENT` means that the member may have
    failed, since it did not commit for its session timeout.
    """
    if recent is None:
        return Departure.UNKNOWN
    session_ms, poll_ms = timeouts.session_ms, timeouts.poll_ms
    anew = changed_since(recent.last_ms, changes)
    alive_ms = timeouts.session_min_ms if poll_ms < 0 else min(timeouts.session_min_ms, poll_ms)
    if removal.until_ms - recent.last_ms < alive_ms:
        return Departure.UNKNOWN if anew else Departure.LEFT
    if removal.latest_ms - recent.last_ms < session_ms - timeouts.heartbeat_ms:
        return Departure.UNKNOWN
    if not anew and recent.period_ms is not None and 2 * recent.period_ms <= session_ms:
        # The member failed before its next commit was due; a commit may be late by one period.
        late_ms = 2 * recent.period_ms + EXPIRY_SLACK_MS
        for timeout_ms in (session_ms, max(poll_ms, session_ms)):
            due_ms = recent.last_ms + timeout_ms
            if removal.earliest_ms - late_ms <= due_ms <= removal.latest_ms + timeouts.heartbeat_ms:
                return Departure.FAILED
    return Departure.SILENT


def _departure(
    member: Member, before: Generation, generation: Generation, commits: CommitTimes, removal: Removal
) -> Departure:
    partitions = pairs(member.assigned)
    recent = commits.recent(before.value.group, partitions, before.timestamp_ms, generation.timestamp_ms)
    session_ms = member.session_timeout_ms
    timeouts = Timeouts(session_ms, session_ms, member.rebalance_timeout_ms)
    how = by_commits(recent, timeouts, removal, generation.coordinator_changes)
    # A static member that closes does not leave: its session expires, as if it had failed.
    return Departure.SILENT if how is Departure.FAILED and member.instance_id is not None else how


def _timeout_ms(before: Generation, generation: Generation) -> int:
    return max(before.rebalance_timeout_ms, generation.rebalance_timeout_ms)


def _removal(start: TimeBounds, generation: Generation) -> Removal:
    joined_ms = generation.timestamp_ms if generation.joined_ms is None else generation.joined_ms
    return Removal(start.earliest_ms, start.latest_ms, max(joined_ms, start.latest_ms))
