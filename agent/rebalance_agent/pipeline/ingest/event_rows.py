"""Converts a published value (bytes) to a row of `events`, or to the reason for its rejection. Pure, without Spark.

The row's ``body`` is encoded again from the decoded event, as a sidecar encodes the events that it receives. So later
stages read only JSON that this package has written. Spark's own reader turns a whole event into null if the event has
a number of 1,001 digits or a name of 50,001 characters; it applies no defaults, and keeps both of two equal names.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from typing import NamedTuple

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json, json_line, json_object
from rebalance_agent.model.events import EVENT_KINDS, SCHEMA_VERSION, Event, GenerationEvent
from rebalance_agent.pipeline.ingest.event_times import ReadAt, untimely
from rebalance_agent.pipeline.ingest.number_limits import require_bounds
from rebalance_agent.pipeline.tried_releases import UNREAD_BY_RELEASE
from rebalance_agent.visible_names import visible

__all__ = [
    "EVENT_BYTES_MAX",
    "KEPT_BYTES_MAX",
    "EventRow",
    "Reason",
    "event_row",
    "kept",
    "rejected_id",
    "row_of",
]

EVENT_BYTES_MAX = 16 * 1024 * 1024
"""Maximum size of an event in bytes: sixteen times the broker's default ``message.max.bytes``."""

KEPT_BYTES_MAX = 1024 * 1024
"""Number of bytes kept of a rejected value larger than `EVENT_BYTES_MAX`.

Smaller ones are kept whole because a later release may be able to read them.
"""


class Reason(NamedTuple):
    """The reason why a record is not an event: a ``code`` from a fixed set, and an explanation for people."""

    code: str
    words: str

    def __str__(self) -> str:
        """Return ``code: words``, the form in column ``reason``."""
        return f"{self.code}: {self.words}"


class EventRow(NamedTuple):
    """The columns of `events` that are computed from the event alone, in the order of the table."""

    event_id: str
    kind: str
    cluster_id: str
    group: str
    schema_version: int
    revision: int
    part: int
    parts: int
    timestamp: dt.datetime
    body: str
    generation: int | None
    source: str | None


def event_row(value: bytes | None, read: ReadAt | None = None) -> EventRow | Reason:
    """Decode one published event. For a value that cannot be read, return a `Reason`; never raise an exception.

    ``read``: bounds the event's times; None accepts all times that the tables can hold.
    """
    if value is None:
        return Reason("malformed", "the record has no value")
    if len(value) > EVENT_BYTES_MAX:
        return Reason("too_large", f"more than {EVENT_BYTES_MAX} bytes, of which {KEPT_BYTES_MAX} are kept")
    try:
        data = json_object(value.decode())
        if (reason := _not_ours(data)) is not None:
            return reason
        event = event_from_json(data)
        version = data["schema_version"] if isinstance(data, dict) else SCHEMA_VERSION
        row = row_of(event, version)
    except UnicodeDecodeError:
        return Reason("malformed", "is not UTF-8 text")
    except InvalidInputError as error:
        return Reason("malformed", _short(str(error)))
    problem = None if read is None else untimely(event, read)
    return row if problem is None else Reason("untimely", problem)


def _not_ours(data: object) -> Reason | None:
    """Return the reason if a newer release may be able to read ``data``."""
    if not isinstance(data, dict):
        return None
    version, kind = data.get("schema_version"), data.get("kind")
    if isinstance(version, int) and not isinstance(version, bool) and version > SCHEMA_VERSION:
        return Reason("newer_schema", _short(f"{UNREAD_BY_RELEASE['newer_schema']}; schema_version {version}"))
    if isinstance(kind, str) and kind not in EVENT_KINDS:
        return Reason("unknown_kind", _short(f"{UNREAD_BY_RELEASE['unknown_kind']}; kind {kind!r}"))
    return None


def row_of(event: Event, schema_version: int = SCHEMA_VERSION) -> EventRow:
    """Return the row of ``event``.

    Raises:
        InvalidInputError: the event id is empty, or no table can hold the event (see `require_bounds`).
    """
    if not event.event_id:
        raise InvalidInputError("event_id", "must not be empty")
    require_bounds(event)
    part, parts = (event.part, event.parts) if isinstance(event, GenerationEvent) else (0, 1)
    source = getattr(event, "source", None)
    return EventRow(
        visible(event.event_id),
        event.KIND,
        visible(event.cluster_id),
        visible(event.group),
        schema_version,
        event.revision,
        part,
        parts,
        dt.datetime.fromtimestamp(event.timestamp_ms / 1000, dt.UTC),
        json_line(event).decode(),
        getattr(event, "generation", None),
        None if source is None else source.value,
    )


def rejected_id(value: bytes | None, *location: str | int | None) -> str:
    """Return the id of a rejected record: a digest of its location and value, the same each time the record is read."""
    digest = hashlib.blake2b(repr(location).encode("utf-8", "backslashreplace"), digest_size=16)
    digest.update(value if value is not None else b"")
    return digest.hexdigest()


def kept(value: bytes | None) -> bytes | None:
    """Return the bytes of a key or value that `events_rejected` stores."""
    return value if value is None or len(value) <= EVENT_BYTES_MAX else value[:KEPT_BYTES_MAX]


_WORDS_MAX = 500


def _short(text: str) -> str:
    return visible(text if len(text) <= _WORDS_MAX else text[:_WORDS_MAX] + " ...")
