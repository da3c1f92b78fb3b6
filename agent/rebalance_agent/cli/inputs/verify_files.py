"""What `verify` reads from files: events, records, and the text of a scrape."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_agent.audit.audited_group import RecordPosition
from rebalance_agent.audit.entries import LogRecord
from rebalance_agent.cli.inputs.line_files import lines_of, open_lines
from rebalance_agent.cli.inputs.raw_records import raw_record
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.model.events import Event
from rebalance_agent.runtime.watch.audit_source import Scrape, scraped

__all__ = ["events_in", "records_in", "scrape_in"]

LINE_BYTES_MAX = 16 * 1024 * 1024
"""An event or record of many times the size that brokers take by default."""

METRICS_BYTES_MAX = 256 * 1024 * 1024
"""A scrape of 20,000 groups has some 150 MB."""


def events_in(flag: str, name: str) -> Iterator[tuple[Event, RecordPosition]]:
    """Events of a file, a line each.

    Raises:
        InvalidInputError: naming ``flag`` or the line.
    """
    with open_lines(flag, name) as stream:
        for number, line in lines_of(name, stream, LINE_BYTES_MAX):
            try:
                yield event_from_json(json_object(line)), RecordPosition(name, -1, number)
            except InvalidInputError as error:
                raise InvalidInputError(f"{name}, line {number}", str(error)) from None


def records_in(name: str) -> Iterator[LogRecord]:
    """Records of a file, each partition's in order; those without an offset follow each other without a gap.

    Raises:
        InvalidInputError: naming the line.
    """
    following: dict[int, int] = {}
    with open_lines("--records", name) as stream:
        for number, line in lines_of(name, stream, LINE_BYTES_MAX):
            try:
                raw = raw_record(line)
            except InvalidInputError as error:
                raise InvalidInputError(f"{name}, line {number}", str(error)) from None
            if raw.timestamp is None:
                raise InvalidInputError(f"{name}, line {number}", "timestamp: is missing")
            partition = raw.partition or 0
            offset = following.get(partition, 0) if raw.offset is None else raw.offset
            if offset < (expected := following.get(partition, 0)):
                what = f"offset: {offset} of partition {partition} comes after {expected - 1}: put them in order"
                raise InvalidInputError(f"{name}, line {number}", what)
            following[partition] = offset + 1
            yield LogRecord(RecordPosition(name, partition, offset), raw.timestamp, raw.key, raw.value)


def scrape_in(name: str) -> Scrape:
    """What an observer's last scrape says.

    Raises:
        InvalidInputError: it cannot be read, or is none.
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
        raise InvalidInputError("--lifetime", f"{name} has no metrics of an observer: give its /metrics")
    return scrape
