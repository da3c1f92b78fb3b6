"""Passes records of the offsets topic to the entries of their groups, through migrations, deletions and gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rebalance_agent.audit.expected.classic_entries import ClassicEntries
from rebalance_agent.audit.expected.entries import ExpectedFact, LogRecord
from rebalance_agent.audit.expected.epoch_entries import EpochEntries
from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.group_fact import GROUP_FACT_KINDS, EpochGroupFact, GroupFact, group_fact
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from rebalance_agent.model.events import GroupGoneEvent
from rebalance_agent.model.group import GroupType

__all__ = ["RecordFeed"]

_Entries = ClassicEntries | EpochEntries


class RecordFeed:
    """The entries of all groups.

    ``unread``: number of records that are malformed or have an unknown version. ``orphans``: groups and times (epoch
    ms) of deletions; all earlier records of these groups are missing.
    """

    def __init__(self, shows: Callable[[str], bool], cleaned: Callable[[int], bool]) -> None:
        """``shows`` selects groups; ``cleaned`` returns whether records may be missing in a partition.

        A group whose first record is where no record can be missing has all its records, since compaction keeps the
        last record of each key.
        """
        self.unread = 0
        self.orphans: set[tuple[str, int]] = set()
        self._shows = shows
        self._cleaned = cleaned
        self._entries: dict[str, _Entries] = {}
        # Group -> tombstone of the group's main record; a group may continue as another type in the same batch.
        self._ends: dict[str, LogRecord] = {}
        self._partitions: dict[str, int] = {}
        self._groups_seen: dict[int, set[str]] = {}

    def entries(self, group: str) -> _Entries | None:
        """Return the group's entries; None if the group does not exist."""
        return self._entries.get(group)

    def partition(self, group: str) -> int | None:
        """Return the partition in which the group's records were read; None if no record was read."""
        return self._partitions.get(group)

    def mark_uncertain(self, partition: int) -> None:
        """Process a gap in a partition: later records of its groups cannot be compared with earlier ones."""
        # Only groups with records since the last gap: there may be as many gaps as records.
        for group in self._groups_seen.pop(partition, ()):
            if entries := self._entries.get(group):
                entries.mark_uncertain()

    def add_record(self, record: LogRecord) -> Iterator[ExpectedFact]:
        """Process one record; yield the expected facts that follow from it."""
        if record_kind(record.key) not in GROUP_FACT_KINDS:
            return
        try:
            decoded = decode_record(record.key, record.value)
        except DecodeError:
            self.unread += 1
            return
        if decoded.unknown:
            self.unread += 1
        elif self._shows(decoded.group) and (fact := group_fact(decoded)):
            self._groups_seen.setdefault(record.position.partition, set()).add(fact.group)
            yield from self._add(fact, record)

    def close(self) -> Iterator[ExpectedFact]:
        """Process the end of all records; yield the deletions that were pending."""
        for group in list(self._ends):
            yield from self._end(group)

    def _add(self, fact: GroupFact, record: LogRecord) -> Iterator[ExpectedFact]:
        group, group_type, at_ms = fact.group, fact.group_type, record.timestamp_ms
        entries = self._entries.get(group)
        if fact.value is None and (entries is None or entries.group_type is not group_type):
            if self._cleaned(record.position.partition):
                self.orphans.add((group, at_ms))
            return
        if fact.value is not None:
            yield from self._start_if_new(group, group_type, record)
        if fact.deletes_group:
            self._ends.setdefault(group, record)
            return
        entries = self._entries[group]
        if isinstance(fact, EpochGroupFact):
            if isinstance(entries, EpochEntries):
                yield from entries.take(fact.kind, fact.subject, fact.value, at_ms, record.position)
        elif isinstance(entries, ClassicEntries) and fact.value is not None:
            yield from entries.take(fact.value, at_ms, record.position)

    def _start_if_new(self, group: str, group_type: GroupType, record: LogRecord) -> Iterator[ExpectedFact]:
        """Start new entries if the group is new, has migrated to another type, or was deleted and recreated."""
        entries, end = self._entries.get(group), self._ends.get(group)
        if entries and end is None and entries.group_type is group_type:
            return
        continues = entries and (
            end is None or (record.timestamp_ms == end.timestamp_ms and group_type is not entries.group_type)
        )
        if continues:
            self._ends.pop(group, None)
        elif end:
            yield from self._end(group)
        self._begin(group, group_type, record.position.partition, entries if continues else None)

    def _begin(self, group: str, group_type: GroupType, partition: int, predecessor: _Entries | None) -> None:
        self._partitions[group] = partition
        origin = predecessor.last if predecessor else None
        classic = group_type is GroupType.CLASSIC
        entries = ClassicEntries(group, origin) if classic else EpochEntries(group, group_type, origin)
        entries.certain = predecessor.certain if predecessor else not self._cleaned(partition)
        self._entries[group] = entries

    def _end(self, group: str) -> Iterator[ExpectedFact]:
        end, entries = self._ends.pop(group), self._entries.pop(group)
        if entries.known:
            fact_fields = GroupGoneEvent.KIND, group, entries.group_type, entries.number, end.timestamp_ms
            yield ExpectedFact(*fact_fields, end.position, certain=entries.certain)
