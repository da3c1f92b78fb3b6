"""Reads the events of sidecars and gateways (`Reported`), starting at the end of the topic.

Some older events are also read, for the workload and host of members that have nothing to report now. If the offsets
topic cannot be read, the generations that leaders reported in the six hours before the start are read, too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, get_args

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.read_to_end import records_before
from rebalance_agent.cluster.topic_reader import BEGINNING, TopicReader, TopicRecord, record_bytes
from rebalance_agent.cluster.worker import Worker
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.model.events import EVENT_KINDS, MEMBER_PARTITIONS_MAX, GenerationEvent, Reported
from rebalance_agent.model.reported.led_generation import LedGenerationEvent
from rebalance_agent.offsets_topic.work_share.led_backlog import ClosingEvent, LedBacklog
from rebalance_agent.tracking.observations import MemberReported

__all__ = [
    "EVENT_BYTES_MAX",
    "KIND_HEADER",
    "LED_BACK_MS",
    "MEMBERS_PART",
    "REWIND_MORE_MS",
    "LedReports",
    "MemberEvents",
    "parse_report",
]

KIND_HEADER = "kind"
"""Record header with the event's kind, so that readers need not parse events of other kinds."""

EVENT_BYTES_MAX = 1 << 20
"""Largest event (bytes): an event names only the member's own partitions, and brokers refuse larger records by
default."""

MEMBERS_PART = "member_events"
"""The part's name in readiness."""

REWIND_MORE_MS = 60_000
"""How long (ms) before the requested time reading starts, to include reports of a running rebalance and late
reports."""

REWIND_MAX_MS = 600_000
"""Longest time (ms) to read back: older reports are about rebalances that are no longer revised."""

LED_BACK_MS = 6 * 3_600_000
"""How long (ms) before the start generations are read that leaders reported: longer than most observers are away."""

PAST_RECORDS = 500
"""Older records per partition that are read only for members' workloads: some tenths of a second in total."""

READ_MAX = 20
"""Maximum number of records per read: each may have `EVENT_BYTES_MAX`."""

WAIT_S = 0.5
"""Seconds that one read waits for a record; a stop or a rewind is detected after this delay."""

ABSENT_WAIT_S = 0.5
"""Seconds between checks for a topic that does not exist yet."""

TUNING = {
    "fetch.queue.backoff.ms": "10",
    "queued.max.messages.kbytes": "8192",
    # librdkafka decompresses a whole response. With lz4, as sidecars and gateways compress, a text may become 250 times
    # smaller, so a response of the default size (1 MiB of each partition) could take hundreds of MiB.
    "max.partition.fetch.bytes": "16384",
    "fetch.max.bytes": "1000000",
}

_KINDS = frozenset(kind.KIND for kind in get_args(Reported))
_HEADERS = frozenset(kind.encode() for kind in _KINDS)
_LED_HEADERS = frozenset(kind.KIND.encode() for kind in (LedGenerationEvent, GenerationEvent))


class LedReports(Protocol):
    """Receives the generations that leaders or gateways reported (`LedShare`)."""

    @property
    def due(self) -> bool:
        """Whether the reports from before the start are needed now."""
        ...

    @property
    def begun(self) -> bool:
        """Whether `begin` was called."""
        ...

    def begin(self, backlog: LedBacklog) -> None:
        """Process the reports from before the start."""
        ...

    def without_topic(self) -> None:
        """Begin without reports from before the start, which may not be read."""
        ...

    def put(self, event: LedGenerationEvent) -> None:
        """Process a new report."""
        ...


class MemberEvents:
    """Puts `MemberReported` for shown groups. Events of other clusters are skipped."""

    def __init__(self, context: CollectorContext, topic: str, cluster_id: str, led: LedReports) -> None:
        """Read ``topic``; events without a cluster id count as events of the cluster ``cluster_id``."""
        self._led = led
        self._context = context
        self._topic = topic
        self._cluster_id = cluster_id
        self._partitions = 0
        self._rewind_ms: int | None = None
        self._rewinding = threading.Lock()
        self._past_until: dict[int, int] = {}
        self._led_from: dict[int, int] = {}
        self._positions: Mapping[int, int] = {}
        self.worker = Worker(MEMBERS_PART, self._follow, context.health, denied=self._denied)

    def on_topics(self, partitions: Mapping[str, int]) -> None:
        """Store the partition counts of all topics, since this topic may have grown. Called from any thread."""
        self._partitions = partitions.get(self._topic, 0)

    def _denied(self, _reason: str) -> None:
        # Not a failure: the degraded mode is reported, and stalls stay bounds.
        self._context.health.ready(MEMBERS_PART)
        self._led.without_topic()

    def rewind(self, since_ms: int) -> None:
        """Read the events since ``since_ms`` again, for newly owned groups; a known event changes nothing.

        Called from any thread.
        """
        earliest_ms = self._context.clock.now_ms() - REWIND_MAX_MS
        start_ms = max(since_ms - REWIND_MORE_MS, earliest_ms)
        with self._rewinding:
            # A rewind that is still pending concerns other groups.
            self._rewind_ms = start_ms if self._rewind_ms is None else min(start_ms, self._rewind_ms)

    def _follow(self, stop: threading.Event) -> None:
        with TopicReader(self._context.properties, self._topic, TUNING) as reader:
            if count := reader.partitions():
                self._begin(reader, self._starts(range(count)))
            self._positions = reader.positions
            self._context.health.ready(MEMBERS_PART)
            self.worker.working()
            self._await_topic(reader, stop)
            while not stop.is_set():
                if self._partitions > len(reader.positions):
                    reader.begin(dict.fromkeys(range(len(reader.positions), self._partitions), BEGINNING))
                self._read_led(reader, stop)
                if (since_ms := self._rewind_ms) is not None:
                    self._go_back(reader, since_ms)
                    with self._rewinding:
                        if self._rewind_ms == since_ms:
                            self._rewind_ms = None  # only now, so that the request is repeated if brokers do not answer
                for message in reader.read(READ_MAX, WAIT_S):
                    self.take(message, past=message.offset() < self._past_until.get(message.partition(), 0))

    def _await_topic(self, reader: TopicReader, stop: threading.Event) -> None:
        """Wait for the topic. A topic that is created now is read from its beginning, before rebalances settle."""
        while not (reader.positions or self._partitions or stop.wait(ABSENT_WAIT_S)):
            self._read_led(reader, stop)
            self._partitions = reader.partitions()

    def _starts(self, partitions: Iterable[int]) -> dict[int, int]:
        """Return where reading starts: at the end, or after a failure where it ended, unless the topic is another."""
        ends = self._context.cluster.end_offsets(self._topic, partitions)
        self._led_from = {number: min(offset, ends.get(number, 0)) for number, offset in self._led_from.items()}
        read = self._new_from(self._positions)
        return {number: min(end, read.get(number, end)) for number, end in ends.items()}

    def _new_from(self, positions: Mapping[int, int]) -> dict[int, int]:
        """Return where records are new that readers at these ``positions`` have not read."""
        return {number: max(at, self._past_until.get(number, 0)) for number, at in positions.items()}

    def _read_led(self, reader: TopicReader, stop: threading.Event) -> None:
        """Read the reports of leaders from before the start, when they are due; later ones are read by ``reader``."""
        if not self._led.due:
            return
        ends = self._new_from(reader.positions)
        backlog = LedBacklog()
        for message in self._records_before(ends) if ends else ():
            if stop.is_set():
                return
            self._add_led(message, backlog)
        if (first_ms := backlog.first_ms) is not None:
            self.rewind(first_ms)  # members' reports of the same rebalances
        self._led_from = ends
        self._led.begin(backlog)

    def _records_before(self, ends: Mapping[int, int]) -> Iterator[TopicRecord]:
        """Yield the records of the last `LED_BACK_MS` before ``ends`` (partition -> offset)."""
        since_ms, clock = self._context.clock.now_ms() - LED_BACK_MS, self._context.clock
        starts = self._context.cluster.offsets_since(self._topic, ends, since_ms)
        with TopicReader(self._context.properties, self._topic, TUNING) as past:
            for batch in records_before({number: ends[number] for number in starts}, past, clock, starts):
                yield from batch

    def _add_led(self, message: TopicRecord, backlog: LedBacklog) -> None:
        """Add a past report, or the event that an observer published about one."""
        value, kind = message.value(), _kind(message)
        if (kind is not None and kind not in _LED_HEADERS) or not value or len(value) > EVENT_BYTES_MAX:
            return
        try:
            data = json_object(value)
            if event := ClosingEvent.of(data, self._cluster_id):
                backlog.add_event(event)
            elif isinstance(report := _reported(data), LedGenerationEvent) and self._shows(report):
                backlog.add(report)
        except InvalidInputError:
            return  # counted if it is read again

    def _go_back(self, reader: TopicReader, since_ms: int) -> None:
        found = self._context.cluster.offsets_since(self._topic, list(reader.positions), since_ms)
        earlier = {number: min(offset, reader.positions[number]) for number, offset in found.items()}
        read = {number: reader.positions[number] for number in earlier}
        self._led_from = {number: max(at, self._led_from.get(number, 0)) for number, at in read.items()}
        reader.end(earlier)
        self._begin(reader, earlier)

    def _begin(self, reader: TopicReader, offsets: Mapping[int, int]) -> None:
        """Assign partitions; records before ``offsets`` are history, and only provide the members' workloads."""
        starts = self._context.cluster.start_offsets(self._topic, offsets)
        self._past_until.update(offsets)
        reader.begin({number: max(starts[number], offset - PAST_RECORDS) for number, offset in offsets.items()})

    def take(self, message: TopicRecord, *, past: bool = False) -> None:
        """Process one record of the topic; ``past``: use the record only for the member's workload."""
        if (kind := _kind(message)) is not None and kind not in _HEADERS:
            return
        try:
            event = parse_report(message.value())
        except InvalidInputError:
            self._context.meters.event_malformed()
            return
        if event is None:
            return
        if not past:
            self._context.meters.events_received(event.KIND)
        if not self._shows(event):
            return
        if not isinstance(event, LedGenerationEvent):
            observed = MemberReported(self._context.clock.now_ms(), event, past)
            self._context.inbox.put(observed, record_bytes(message))
        elif self._led.begun and not past and message.offset() >= self._led_from.get(message.partition(), 0):
            self._led.put(event)

    def _shows(self, event: Reported) -> bool:
        return event.cluster_id in ("", self._cluster_id) and self._context.shows(event.group)


def parse_report(value: bytes | None) -> Reported | None:
    """Parse a published event; return None for a kind that neither members nor gateways report.

    Raises:
        InvalidInputError: the bytes are not an event, or exceed a size limit.
    """
    if not value or len(value) > EVENT_BYTES_MAX:
        raise InvalidInputError("", f"an event must have 1 to {EVENT_BYTES_MAX} bytes")
    return _reported(json_object(value))


def _reported(data: object) -> Reported | None:
    kind = data.get("kind") if isinstance(data, dict) else None
    if isinstance(kind, str) and kind in EVENT_KINDS and kind not in _KINDS:
        return None
    event = event_from_json(data, partitions_max=MEMBER_PARTITIONS_MAX)
    return event if isinstance(event, Reported) else None


def _kind(message: TopicRecord) -> bytes | None:
    return next((value for name, value in message.headers() or () if name == KIND_HEADER), None)
