"""Reads the files of `verify`: events, records, and the text of a scrape."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_agent.audit.audited_group import RecordPosition
from rebalance_agent.audit.expected.entries import LogRecord
from rebalance_agent.cli.inputs.line_files import open_lines, values_of
from rebalance_agent.cli.inputs.raw_records import raw_record
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.model.events import Event
from rebalance_agent.runtime.watch.audit_source import Scrape, scraped

__all__ = ["events_in", "records_in", "scrape_in"]

LINE_BYTES_MAX = 16 * 1024 * 1024
"""Maximum number of bytes of a line: an event or record many times as large as brokers accept by default (1 MiB)."""

METRICS_BYTES_MAX = 256 * 1024 * 1024
"""Maximum number of bytes of a scrape; a scrape with 20,000 groups has about 150 MB."""


def events_in(flag: str, name: str) -> Iterator[tuple[Event, RecordPosition]]:
    """Yield the events of a file (one per line) with their positions.

    Raises:
        InvalidInputError: the file cannot be read, or a line is not an event; names ``flag`` or the line.
    """
    with open_lines(flag, name) as stream:
        for number, event in values_of(name, stream, LINE_BYTES_MAX, lambda line: event_from_json(json_object(line))):
            yield event, RecordPosition(name, -1, number)


def records_in(name: str) -> Iterator[LogRecord]:
    """Yield the records of a file, ordered within each partition; records without an offset are numbered in sequence.

    Raises:
        InvalidInputError: a line is not a record, or its offset is not greater than the offset before it.
    """
    next_offsets: dict[int, int] = {}
    with open_lines("--records", name) as stream:
        for number, raw in values_of(name, stream, LINE_BYTES_MAX, raw_record):
            if raw.timestamp is None:
                raise InvalidInputError(f"{name}, line {number}", "timestamp: is missing")
            partition = raw.partition or 0
            offset = next_offsets.get(partition, 0) if raw.offset is None else raw.offset
            if offset < (expected := next_offsets.get(partition, 0)):
                what = f"offset: {offset} of partition {partition} comes after {expected - 1}: sort the records"
                raise InvalidInputError(f"{name}, line {number}", what)
            next_offsets[partition] = offset + 1
            yield LogRecord(RecordPosition(name, partition, offset), raw.timestamp, raw.key, raw.value)


def scrape_in(name: str) -> Scrape:
    """Return the parsed text of an observer's last scrape.

    Raises:
        InvalidInputError: the file cannot be read, or is not a scrape of an observer.
    """
    with open_lines("--lifetime", name) as stream:
        text = stream.read(METRICS_BYTES_MAX + 1)
    if len(text) > METRICS_BYTES_MAX:
        raise InvalidInputError("--lifetime", f"{name} is larger than {METRICS_BYTES_MAX} bytes")
    try:
        scrape = scraped(text.decode())
    except (UnicodeDecodeError, InvalidInputError) as error:
        raise InvalidInputError("--lifetime", f"{name} {error}") from None
    if scrape.at_ms is None and not scrape.counters:
        raise InvalidInputError("--lifetime", f"{name} has no metrics of an observer: use its /metrics")
    return scrape
