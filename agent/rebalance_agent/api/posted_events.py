"""Parses the body of a post into events: bounded before parsing, all of it or nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping

from rebalance_agent.errors import DecodeError, InvalidInputError
from rebalance_agent.model.event_json import MEMBER_PARTITIONS_MAX, event_from_json, json_object
from rebalance_agent.model.events import AssignEvent, Event, MemberEvent
from rebalance_agent.model.partitions import claimed_partitions

__all__ = ["LABEL_MAX", "LINE_BYTES_MAX", "POST_PARTITIONS_MAX", "LineError", "parse_events"]

LINE_BYTES_MAX = 256 * 1024
"""Maximum number of bytes of one event: a member that owns thousands of topics as ranges needs less."""

LABEL_MAX = 1_024
"""Maximum number of characters of a text that becomes a label: topic names have up to 249, group names hardly more."""

POST_PARTITIONS_MAX = 1_000_000
"""Maximum number of partitions in all events of a post, 40 MB of memory: a range of many has few bytes in a post."""

_LABELS = ("group", "client_id", "assignor")
_KINDS = {MemberEvent.KIND: MemberEvent, AssignEvent.KIND: AssignEvent}


class LineError(InvalidInputError):
    """A line of a post is not an acceptable event. ``line`` counts from 1."""

    def __init__(self, line: int, error: InvalidInputError) -> None:
        """Take over field and problem of ``error``."""
        super().__init__(error.field, error.problem)
        self.line = line


def parse_events(lines: list[bytes], claim: Callable[[int], None] = lambda _partitions: None) -> tuple[Event, ...]:
    """The events of a post, one per line; empty lines are skipped.

    ``claim`` is called with the number of partitions in all events before any of them is in memory; what it raises ends
    the parsing.

    Raises:
        LineError: at the first line that is not a ``member`` or ``assign`` event, or exceeds a bound.
    """
    found: list[tuple[int, object]] = []
    claimed = 0
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append((number, data := _object(line)))
                claimed = _within(claimed + _partitions(data))
            except InvalidInputError as error:
                raise LineError(number, error) from None
    claim(claimed)
    return tuple(_event(number, data) for number, data in found)


def _event(number: int, data: object) -> Event:
    try:
        return event_from_json(data, partitions_max=MEMBER_PARTITIONS_MAX)
    except InvalidInputError as error:
        raise LineError(number, error) from None


def _object(line: bytes) -> object:
    if len(line) > LINE_BYTES_MAX:
        raise InvalidInputError("", f"has more than {LINE_BYTES_MAX} bytes")
    data = json_object(line)
    if isinstance(data, dict):
        if data.get("kind") not in list(_KINDS):
            raise InvalidInputError("kind", f"must be one of {', '.join(sorted(_KINDS))}")
        _bound(data)
    return data


def _within(claimed: int) -> int:
    if claimed > POST_PARTITIONS_MAX:
        raise InvalidInputError("partitions", f"one post has more than {POST_PARTITIONS_MAX} partitions")
    return claimed


def _partitions(data: object) -> int:
    """The partitions of an event, from its ranges; what is no range, or too many, is refused when it is parsed."""
    ranges = data.get("partitions") if isinstance(data, dict) else None
    number = 0
    for text in ranges.values() if isinstance(ranges, dict) else ():
        if isinstance(text, str):
            with contextlib.suppress(DecodeError):
                number += claimed_partitions(text)
    return number if number <= MEMBER_PARTITIONS_MAX else 0


def _bound(data: Mapping[str, object]) -> None:
    for name in _LABELS:
        value = data.get(name)
        if isinstance(value, str) and len(value) > LABEL_MAX:
            raise InvalidInputError(name, f"must have at most {LABEL_MAX} characters")
