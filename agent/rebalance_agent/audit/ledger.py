"""Takes all events, then all records in order, and reports the differences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from rebalance_agent.audit.audit_report import UNREADABLE, AuditReport, Difference, Differences
from rebalance_agent.audit.audited_group import RecordPosition
from rebalance_agent.audit.expected.compaction import CompactedRange
from rebalance_agent.audit.expected.entries import ExpectedFact, LogRecord
from rebalance_agent.audit.expected.epoch_entries import EpochEntries
from rebalance_agent.audit.expected.record_feed import RecordFeed
from rebalance_agent.audit.led_generations import LedGenerations
from rebalance_agent.audit.matching import GroupAccount, identity_differences
from rebalance_agent.audit.published_event import PublishedEvent
from rebalance_agent.audit.published_events import KINDS, PublishedEvents
from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.model.group import is_cooperative

__all__ = ["AuditWindow", "Ledger"]

FOLLOWUP_MS = 300_000
"""Longest wait (ms) for an announced follow-up before an observer publishes the episode."""

NOT_REPORTED = "that no gateway or leader reported"
"""The reason why a fact is not checked if the observer could not read the records."""

PENDING_DIFFERENCES_MAX = 1_000
"""Maximum number of differences that are kept per partition before it is certain whether records are missing."""


@dataclass(frozen=True, slots=True)
class AuditWindow:
    """The time range of facts that must have an event (epoch ms, coordinators' clock).

    The range starts at ``since_ms`` and ends ``grace_ms`` before ``until_ms``, when the events were read. ``complete``:
    nothing was compacted, so missing offsets are transaction markers. ``names``: topic id -> topic name. ``reports``:
    members' events were read, too; if a group has none, only records show its stalls.
    """

    since_ms: int = 0
    until_ms: int | None = None
    grace_ms: int = 0
    complete: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    reports: bool = False


class Ledger:
    """Compares events with records.

    Call `add_event` for each event, then `expect`, then `add_record` for each record, and finally `close`.
    Records must be in order within each partition, and must reach at least as far as the events.
    """

    def __init__(
        self,
        cluster_id: str,
        shows: Callable[[str], bool] = lambda _group: True,
        *,
        kinds: Collection[str] = KINDS,
        once: bool = False,
    ) -> None:
        """Compare the groups of one cluster that ``shows`` selects, and facts of these ``kinds``.

        ``once``: the source holds each event once, so a copy is a difference.
        """
        self.report = AuditReport()
        self.published = PublishedEvents(self.report, cluster_id, shows, kinds, once=once)
        self._led = LedGenerations(cluster_id, shows)
        self._window = AuditWindow()
        self._compacted = CompactedRange()
        self._record_feed = RecordFeed(shows, self._compacted.may_be_cleaned)
        self._accounts: dict[str, GroupAccount] = {}
        self._next: dict[int, int] = {}
        self._gap_ms: dict[int, int] = {}
        self._soft: dict[int, Differences] = {}
        self._uncertain: set[tuple[str, int]] = set()

    def add_event(self, event: Event, position: RecordPosition) -> None:
        """Add a published event; only the group of a member's event is used."""
        self.published.take(event, position)
        self._led.take(event, position)

    @property
    def first_ms(self) -> int | None:
        """The time (epoch ms) of the earliest event about a generation that was added, None without events."""
        return self._led.first_ms if self._led.only else self.published.first_ms

    # Records

    def expect(self, window: AuditWindow) -> None:
        """Set the window in which each fact must have an event. Call this after all events have been added."""
        self._window = window

    def skip(self, partition: int, offset: int, timestamp_ms: int) -> None:
        """Process the offset of an irrelevant record, so that it does not count as missing."""
        if offset > self._next.get(partition, 0) and not self._window.complete:
            self._gap(partition, timestamp_ms)
        self._next[partition] = offset + 1

    def add_record(self, record: LogRecord) -> None:
        """Add the next record of its partition."""
        partition = record.position.partition
        self.skip(partition, record.position.offset, record.timestamp_ms)
        if self._compacted.ends(partition, record.key):
            self._doubt(partition)
        elif self._compacted.may_be_cleaned(partition):
            self._gap_ms[partition] = record.timestamp_ms
        for entry in self._record_feed.add_record(record):
            self._match(entry)

    def _gap(self, partition: int, at_ms: int) -> None:
        self._gap_ms[partition] = at_ms
        self._compacted.gap(partition)
        self._doubt(partition)

    def _doubt(self, partition: int) -> None:
        """Process a gap in a partition: its kept differences may be due to removed records, so they are not checked."""
        self._record_feed.mark_uncertain(partition)
        if soft := self._soft.pop(partition, None):
            self.report.leave("whose preceding records were compacted away", soft.found)

    def _match(self, entry: ExpectedFact) -> None:
        if entry.kind not in self.published.kinds:
            return
        account = self._accounts.get(entry.group)
        if account is None:
            reported = not self._window.reports or entry.group in self.published.reporting
            account = self._accounts[entry.group] = GroupAccount(reported=reported)
        if not entry.certain:
            self._uncertain.add((entry.group, entry.at_ms))
        differences = list(self._led.differences(entry))
        for what in differences:
            self._differ(entry, f"{entry}: {what}", (entry.position,), soft=False)
        published = self.published.find(entry)
        if published is None:
            account.drop_episode()
            if by_frames := self._led.published(entry):
                by_frames.matched = True
                self.report.groups.add(entry.group)
                self.report.agreed += not differences
            else:
                self._missing(entry)
            return
        published.matched = True
        self.report.groups.add(entry.group)
        entries = self._record_feed.entries(entry.group)
        positions, wrong = (entry.position, published.position), 0
        for what in (*identity_differences(entry, published), *account.compare(entry, published, self._window.names)):
            wrong += 1
            self._differ(entry, f"{entry}: {what}", positions, soft=isinstance(entries, EpochEntries))
        self.report.agreed += not wrong

    def _missing(self, entry: ExpectedFact) -> None:
        window = self._window
        started_ms = entry.before.at_ms if entry.before and entry.kind != GenerationEvent.KIND else entry.at_ms
        if min(entry.at_ms, started_ms) < window.since_ms:
            self.report.leave("older than the compared events")
            return
        if self._led.only and not self._led.is_led(entry):
            self.report.leave(NOT_REPORTED)
            return
        if window.until_ms is not None and entry.at_ms > window.until_ms - self._patience_ms(entry):
            self.report.pending += 1
            return
        # The record of a classic generation is evidence by itself, without the records before it.
        soft = isinstance(self._record_feed.entries(entry.group), EpochEntries) or entry.kind != GenerationEvent.KIND
        cleaned = not entry.certain or self._compacted.may_be_cleaned(entry.position.partition)
        if (soft and not entry.certain) or (cleaned and self.published.was_published_as_epoch(entry)):
            self.report.leave("whose preceding records were compacted away")
        else:
            self._differ(entry, f"{entry} has no event", (entry.position,), soft=soft)

    def _patience_ms(self, entry: ExpectedFact) -> int:
        now = entry.now
        waits = now is not None and now.has_pending_revocations and (is_cooperative(now.assignor or "cooperative"))
        return self._window.grace_ms + (FOLLOWUP_MS if waits else 0)

    def _differ(self, entry: ExpectedFact, what: str, positions: tuple[RecordPosition, ...], *, soft: bool) -> None:
        """Add a difference; if it is ``soft``, it is dropped when records turn out to be missing in the partition."""
        difference = Difference(entry.group, entry.number, what, positions)
        if soft and not self._window.complete:
            self._soft.setdefault(entry.position.partition, Differences(PENDING_DIFFERENCES_MAX)).differ(difference)
        else:
            self.report.differ(difference)

    # Balance

    def close(self) -> AuditReport:
        """Process the end of all records, add differences for events without a record, and return the report."""
        for entry in self._record_feed.close():
            self._match(entry)
        for partition in list(filter(self._compacted.may_be_cleaned, self._soft)):
            self._doubt(partition)
        for kept in (*self._soft.values(), *self.published.disputed()):
            self.report.differ(*kept.differences, found=kept.found)
        for published in (*self.published.unmatched(), *self._led.unmatched()):
            self._invented(published)
        for group, account in self._accounts.items():
            self._unclosed(group, account.unclosed)
            for why, number in account.unjudged.items():
                self.report.leave(why, number)
        self.report.leave(UNREADABLE, self._record_feed.unread)
        return self.report

    def _unclosed(self, group: str, number: int | None) -> None:
        """Add a difference for an episode that no event closes: the events of an episode are published together."""
        if number is None:
            return
        if self._compacted.may_be_cleaned(self._record_feed.partition(group) or 0):
            self.report.leave("whose preceding records were compacted away")
        else:
            self.report.differ(Difference(group, number, f"the episode of {number} has no closing event"))

    def _invented(self, published: PublishedEvent) -> None:
        partition = self._record_feed.partition(published.group)
        gap_ms = max(self._gap_ms.values(), default=-1) if partition is None else self._gap_ms.get(partition, -1)
        fact = published.group, published.at_ms
        if published.at_ms <= gap_ms or fact in self._uncertain or fact in self._record_feed.orphans:
            self.report.leave("whose records were compacted away")
        else:
            what = f"{published} has no record"
            self.report.differ(Difference(published.group, published.number, what, (published.position,)))
