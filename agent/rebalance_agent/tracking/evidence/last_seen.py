"""Infers from records when departed members were last active, and how they left.

Times are the records' timestamps. An offset commit shows activity, since the coordinator accepts it only from a current
member.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rebalance_agent.model.epoch_groups import CurrentAssignment, EpochMember, MemberState
from rebalance_agent.model.group import Member, RebalanceProtocol
from rebalance_agent.model.partitions import pairs
from rebalance_agent.model.reported.seat_event import names_seat
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.evidence.commits.commit_times import CommitTimes, RecentCommits
from rebalance_agent.tracking.evidence.commits.read_times import ReadTime
from rebalance_agent.tracking.evidence.coordinators import changed_since
from rebalance_agent.tracking.evidence.departures import Removal, Timeouts, by_commits
from rebalance_agent.tracking.evidence.known_times import CoordinatorChange, Departure, LastSeen

__all__ = [
    "DEPARTED_MAX",
    "HEARTBEAT_MS",
    "SESSION_MIN_MS",
    "SESSION_TIMEOUT_MS",
    "ClassicLastSeen",
    "EpochLastSeen",
    "sends_heartbeats",
]

SESSION_TIMEOUT_MS = 45_000
"""Session timeout (ms) assumed for members: the brokers' default of ``group.consumer.session.timeout.ms``.

Share and streams groups have the same default; no record contains the value. It bounds stalls that began with a
member's last heartbeat. If a group has a longer timeout, the bound is too low by the difference.
"""

SESSION_MIN_MS = 1_000
"""A lower bound (ms) of the real session timeout, which must be longer than the heartbeat interval."""

HEARTBEAT_MS = 5_000
"""Interval (ms) assumed between members' heartbeats: the brokers' default of
``group.consumer.heartbeat.interval.ms``."""

DEPARTED_MAX = 4_096
"""Departed members kept per group until all members have reached the epoch: twice the size of the largest groups.
Beyond it, the oldest members are dropped."""


class ClassicLastSeen:
    """The last known contact of each classic member with its coordinator: the member's join. It is a lower bound."""

    def __init__(self) -> None:
        """Start without members."""
        self._contact_ms: dict[str, int] = {}
        self._assigned_ms: dict[str, int] = {}

    def members(
        self, before: Generation, commits: CommitTimes, at_ms: int, gone: Collection[Member]
    ) -> dict[str, LastSeen]:
        """Return, by member id, when each member of ``before`` was last active before ``at_ms``.

        Also query when the last records that the members in ``gone`` read were appended.
        """
        group, asked, seen = before.value.group, {member.member_id for member in gone}, {}
        for member in before.members:
            name, partitions = member.member_id, pairs(member.assigned)
            after_ms = self._assigned_ms.get(name, before.timestamp_ms)
            worked_ms = commits.worked_ms(group, partitions, after_ms, at_ms)
            read = commits.ask_reads(group, partitions, worked_ms or after_ms, at_ms) if name in asked else None
            seen[name] = LastSeen(self._contact_ms.get(name), worked_ms, read)
        return seen

    def join(self, generation: Generation) -> None:
        """Process a completed generation: all its members joined.

        Under an eager protocol the end of the join phase is a contact of all members. Under other protocols a member
        may have joined and failed at any time since the start of the rebalance.
        """
        contact_ms = generation.start.earliest_ms if generation.start else None
        if generation.protocol is RebalanceProtocol.EAGER:
            contact_ms = min(generation.value.current_state_timestamp_ms, generation.timestamp_ms)
        ids = (member.member_id for member in generation.members)
        self._assigned_ms = dict.fromkeys(ids, generation.timestamp_ms)
        self._contact_ms = {} if contact_ms is None or contact_ms < 0 else dict.fromkeys(self._assigned_ms, contact_ms)

    def return_members(self, before: Generation, generation: Generation) -> None:
        """Process the return of static members under new ids; the other members did not rejoin, so their times stay.

        The time of a member that did not rejoin may be unknown, for example after a restart of the observer.
        """
        ids, at_ms = [member.member_id for member in generation.members], generation.timestamp_ms
        kept = {member.member_id for member in before.members}
        contact_ms = {name: self._contact_ms.get(name) if name in kept else at_ms for name in ids}
        self._contact_ms = {name: contact for name, contact in contact_ms.items() if contact is not None}
        self._assigned_ms = {name: self._assigned_ms.get(name, at_ms) for name in ids}


class EpochLastSeen:
    """The last known contact of each member of an epoch group: a heartbeat leads to the member's assignment record."""

    def __init__(self) -> None:
        """Start without members."""
        self._contact_ms: dict[str, int] = {}
        self._last_seen: dict[str, LastSeen] = {}
        self._worked: dict[str, LastSeen] = {}
        self._departures: dict[str, Departure] = {}

    def contact_ms(self, member_id: str) -> int | None:
        """Return when the member's current assignment was written (epoch ms); None if unknown."""
        return self._contact_ms.get(member_id)

    def update(self, member_id: str, current: CurrentAssignment, at_ms: int) -> None:
        """Process a member's current assignment."""
        if current.epoch < 0:
            return
        self._contact_ms[member_id] = at_ms
        self._last_seen.pop(member_id, None)
        self._departures.pop(member_id, None)

    def forget(self, member_id: str) -> None:
        """Drop the contact time of a member that is gone."""
        self._contact_ms.pop(member_id, None)

    def expelled(
        self,
        member: EpochMember | None,
        member_id: str,
        old: CurrentAssignment,
        at_ms: int,
        changes: Collection[CoordinatorChange],
    ) -> bool:
        """Whether a member with the assignment ``old`` was removed at ``at_ms`` because it did not revoke in time.

        The limit is the member's rebalance timeout. If the coordinator changed in that time (``changes``), the
        result is False.
        """
        contact_ms, patience_ms = self.contact_ms(member_id), member.rebalance_timeout_ms if member else -1
        return (
            old.state is MemberState.UNREVOKED
            and contact_ms is not None
            and 0 <= patience_ms <= at_ms - contact_ms
            and not changed_since(contact_ms, changes)
        )

    def depart(
        self,
        member: EpochMember | None,
        member_id: str,
        old: CurrentAssignment,
        at_ms: int,
        recent: RecentCommits | None = None,
        changes: Collection[CoordinatorChange] = (),
        *,
        expelled: bool = False,
    ) -> None:
        """Process the departure of a member with the assignment ``old``; ``member`` is its member record.

        Records do not distinguish a member that left from one that was removed, with two exceptions: a static member
        leaves with a negative epoch, and a member may be ``expelled``. Otherwise its ``recent`` commits may show how it
        departed.
        """
        contact_ms = self._contact_ms.pop(member_id, None)
        if old.epoch < 0:
            self._departures[member_id] = Departure.LEFT
        elif expelled:
            self._departures[member_id] = Departure.EXPELLED
        elif member is not None:
            self._departures[member_id] = _by_commits(member, at_ms, recent, changes)
        # The coordinator may have written the record in a migration, without a heartbeat.
        migrated = member and member.classic and old.epoch == old.previous_epoch and old.state is MemberState.STABLE
        if migrated or not sends_heartbeats(member):
            contact_ms = None
        self._last_seen.setdefault(member_id, LastSeen(contact_ms))
        if len(self._last_seen) > DEPARTED_MAX:
            oldest = next(iter(self._last_seen))
            del self._last_seen[oldest]
            self._departures.pop(oldest, None)

    def work(self, member_id: str, worked_ms: int | None, read: ReadTime | None = None) -> None:
        """Set `CommitTimes.worked_ms` of a member that departed or gives up partitions.

        None means that no commit shows this time; then the previous value stays. ``read``: the same time, according to
        the records that the member read.
        """
        if worked_ms is None and read is None:
            return
        if member_id in self._worked or len(self._worked) < DEPARTED_MAX:
            before = self._worked.get(member_id, LastSeen())
            worked_ms = before.worked_ms if worked_ms is None else worked_ms
            self._worked[member_id] = LastSeen(worked_ms=worked_ms, read=read or before.read)

    def take(self) -> tuple[dict[str, LastSeen], dict[str, Departure]]:
        """Return when members were last active and how they left since the last call, and reset both results.

        The result contains the members that departed, and the members that gave up partitions and had committed before.
        """
        last_seen, departures = self._last_seen, self._departures
        for name, worked in self._worked.items():
            last_seen[name] = replace(worked, contact_ms=last_seen.get(name, worked).contact_ms)
        self._last_seen, self._worked, self._departures = {}, {}, {}
        return last_seen, departures


def sends_heartbeats(member: EpochMember | None) -> bool:
    """Whether a member's heartbeats are from its consumer.

    A gateway also sends heartbeats for a seat whose consumer has ended, so they do not show that a consumer runs.
    """
    return member is None or not names_seat(member.instance_id)


def _by_commits(
    member: EpochMember, at_ms: int, recent: RecentCommits | None, changes: Collection[CoordinatorChange]
) -> Departure:
    session_ms = member.session_timeout_ms or SESSION_TIMEOUT_MS
    session_min_ms = member.session_timeout_ms or SESSION_MIN_MS
    timeouts = Timeouts(session_ms, session_min_ms, member.rebalance_timeout_ms, HEARTBEAT_MS)
    how = by_commits(recent, timeouts, Removal(at_ms, at_ms, at_ms), changes)
    # A static member of the classic protocol does not leave when it closes; its session expires.
    static = member.classic and member.instance_id is not None
    return Departure.SILENT if how is Departure.FAILED and static else how
