"""Keeps the reports of members, bounded in bytes and members.

A sender can invent members in reports, but not in the group's records. Strangers are members that no record of their
group names; if there is no room, their reports are dropped first.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import Callback, MemberEvent
from rebalance_agent.model.partition_ranges import PartitionRanges
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.model.reported.seat_event import SeatOccupant
from rebalance_agent.model.reported.workload import Workload

__all__ = [
    "EVENTS_PER_MEMBER_MAX",
    "GROUP_BYTES_MAX",
    "MEMBERS_MAX",
    "REPORT_BYTES",
    "REPORT_BYTES_MAX",
    "KeptReports",
    "ReportBudget",
    "ReportedMember",
    "report_bytes",
]

REPORT_BYTES_MAX = 64 * 2**20
"""Maximum number of bytes for the reports of all groups together: one report of each of 35,000 members, or five in 300
groups of 20."""

GROUP_BYTES_MAX = REPORT_BYTES_MAX // 4
"""Maximum number of bytes for the reports of one group: four reports of each of 2,000 members."""

EVENTS_PER_MEMBER_MAX = 32
"""Reports kept per member: three callbacks per generation, for the few generations that can still be revised."""

MEMBERS_MAX = 4_096
"""Maximum number of members kept per group: twice the size of the largest groups, so that departed members are still
known."""

REPORT_BYTES = 1_700
"""Bytes of a report without its strings: its objects, and its share of the dicts that hold it."""

CLIENT_METRICS_BYTES = 250
"""Bytes of the `ClientMetrics` in a report."""

RANGES_BYTES = 200
"""Bytes of one topic in a report: its `PartitionRanges` and its dict entry."""

CHARACTER_BYTES = 4
"""Bytes of each character of a text with characters beyond ASCII; Python needs 1, 2 or 4, depending on the text."""

NUMBER_BYTES = 36
"""Bytes of one partition that is held as a number, not in a range."""


@dataclass(frozen=True, slots=True)
class ReportedMember:
    """A member's last report about itself: workload, its process's random id, and library; each None if not reported.

    ``occupant``: the consumer that has the member's seat, if a gateway reported a consumer other than the one that the
    coordinator names.
    """

    where: Workload | None = None
    process: str | None = None
    occupant: SeatOccupant | None = None
    software: ClientSoftware | None = None


class ReportBudget:
    """The bytes (``left``) that remain for further reports of all groups of a tracker together."""

    def __init__(self, size_bytes: int = REPORT_BYTES_MAX) -> None:
        """``size_bytes``: the maximum for all reports together."""
        self.left = size_bytes
        self._strangers: OrderedDict[tuple[KeptReports, str], None] = OrderedDict()

    def add_stranger(self, reports: KeptReports, member_id: str) -> None:
        """Note that no record of the group names this member of ``reports``."""
        self._strangers[reports, member_id] = None

    def remove_stranger(self, reports: KeptReports, member_id: str) -> None:
        """Note that a record of the group names this member, or that the member's reports were dropped."""
        self._strangers.pop((reports, member_id), None)

    def make_room(self, size_bytes: int) -> bool:
        """Drop the reports of as many strangers as necessary, the oldest first; return whether there is room now."""
        while self.left < size_bytes and self._strangers:
            reports, member_id = next(iter(self._strangers))
            reports.drop(member_id)
        return self.left >= size_bytes


class KeptReports:
    """The last reports of each member of one group."""

    def __init__(self, budget: ReportBudget) -> None:
        """Start without reports; ``budget`` is shared by all groups of a tracker."""
        self._budget = budget
        self._events: dict[str, deque[MemberEvent]] = {}
        self._strangers: OrderedDict[str, None] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        """The number of members with reports."""
        return len(self._events)

    def of(self, member_id: str) -> Sequence[MemberEvent]:
        """Return the reports of a member in the order of their arrival."""
        return self._events.get(member_id, ())

    def reported_by(self, member_id: str, occupant: SeatOccupant | None = None) -> ReportedMember:
        """Return the data on a member from its last reports; ``occupant``: the consumer in its seat."""
        events = self.of(member_id)
        if not events:
            return ReportedMember(occupant=occupant)
        where = next((event.where for event in reversed(events) if event.where is not None), None)
        # A gateway reports each consumer in a seat under the same member id, and not every consumer names its library.
        naming = (event.software for event in reversed(events) if event.software or event.evidence is Evidence.GATEWAY)
        return ReportedMember(where, events[-1].process, occupant, next(naming, None) or None)

    def add(self, event: MemberEvent, *, stranger: bool) -> bool:
        """Keep a report unless there is no room for it; a member replaces its own oldest reports, if necessary."""
        self._know(event.member_id)
        kept = self._add(event)
        if stranger and event.member_id in self._events:
            self._strangers[event.member_id] = None
            self._budget.add_stranger(self, event.member_id)
        if len(self._events) > MEMBERS_MAX:
            self.drop(next(iter(self._strangers or self._events)))
        return kept

    def complete(self, kept: MemberEvent, event: MemberEvent) -> bool:
        """Keep ``event`` instead of ``kept`` if it only adds a duration; return whether it does."""
        if kept.callback_seconds is not None or event.callback_seconds is None:
            return False
        if event != replace(kept, revision=event.revision, callback_seconds=event.callback_seconds):
            return False
        events = self._events[kept.member_id]
        events[events.index(kept)] = event  # it has the same size
        return True

    def keep(self, member_ids: Collection[str], since_ms: int) -> None:
        """Drop members that are neither among ``member_ids`` nor have reported since ``since_ms``, and old reports.

        The last assigned callback stays: no other report shows the time since which a member has its partitions
        (`DoublyOwned`).
        """
        for member_id, events in list(self._events.items()):
            if member_id not in member_ids and all(event.timestamp_ms < since_ms for event in events):
                self.drop(member_id)
                continue
            while len(events) > 1 and events[0].timestamp_ms < since_ms and not _last_assigned(events):
                self._release(events.popleft())

    def drop(self, member_id: str) -> None:
        """Drop the reports of a member."""
        self._know(member_id)
        for event in self._events.pop(member_id):
            self._release(event)

    def clear(self) -> None:
        """Drop all reports."""
        for member_id in list(self._events):
            self.drop(member_id)

    def _add(self, event: MemberEvent) -> bool:
        events = self._events.get(event.member_id, deque(maxlen=EVENTS_PER_MEMBER_MAX))
        if len(events) == EVENTS_PER_MEMBER_MAX:
            self._release(events.popleft())
        size = report_bytes(event)
        while events and not self._make_room(size):
            self._release(events.popleft())
        if not self._make_room(size):
            return False
        self._count(size)
        events.append(event)
        self._events[event.member_id] = events
        return True

    def _know(self, member_id: str) -> None:
        if member_id in self._strangers:
            del self._strangers[member_id]
            self._budget.remove_stranger(self, member_id)

    def _make_room(self, size_bytes: int) -> bool:
        """Drop the reports of as many strangers as necessary; return whether there is room now."""
        while self._strangers and self._bytes + size_bytes > GROUP_BYTES_MAX:
            self.drop(next(iter(self._strangers)))
        return self._bytes + size_bytes <= GROUP_BYTES_MAX and self._budget.make_room(size_bytes)

    def _count(self, size_bytes: int) -> None:
        self._budget.left -= size_bytes
        self._bytes += size_bytes

    def _release(self, event: MemberEvent) -> None:
        self._count(-report_bytes(event))


def report_bytes(event: MemberEvent) -> int:
    """Return the memory of a report in bytes; ranges count by their text."""
    texts = (event.event_id, event.group, event.client_id, event.member_id, event.process, event.cluster_id)
    optional = (event.instance_id, event.host, event.error, event.reason)
    where, software = event.where, event.software
    places = (where.pod, where.node, where.workload, where.image) if where else ()
    named = (software.name, software.version) if software else ()
    ranges = sum(_text_bytes(topic) + _ranges_bytes(numbers) for topic, numbers in event.partitions.items())
    pushed = CLIENT_METRICS_BYTES if event.client_metrics else 0
    return (
        REPORT_BYTES + ranges + pushed + sum(_text_bytes(text) for text in (*texts, *optional, *places, *named) if text)
    )


def _text_bytes(text: str) -> int:
    return len(text) if text.isascii() else CHARACTER_BYTES * len(text)


def _ranges_bytes(numbers: Sequence[int]) -> int:
    return RANGES_BYTES + len(numbers.text) if isinstance(numbers, PartitionRanges) else NUMBER_BYTES * len(numbers)


def _last_assigned(events: Sequence[MemberEvent]) -> bool:
    """Whether the first of a member's reports is the member's last report of an assigned callback."""
    if events[0].callback is not Callback.ASSIGNED:
        return False
    return sum(event.callback is Callback.ASSIGNED for event in events) == 1
