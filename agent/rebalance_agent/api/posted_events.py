"""Parses the body of a post into events: bounded before parsing, all of it or nothing."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import MEMBER_PARTITIONS_MAX, event_from_json, json_object
from rebalance_agent.model.events import AssignEvent, Event, MemberEvent
from rebalance_agent.model.partitions import count_partitions

__all__ = ["LABEL_MAX", "LINE_BYTES_MAX", "POST_PARTITIONS_MAX", "LineError", "parse_events"]

LINE_BYTES_MAX = 256 * 1024
"""Maximum number of bytes of one event: a member that owns thousands of topics as ranges needs less."""

LABEL_MAX = 1_024
"""Maximum number of characters of a text that becomes a label: topic names have up to 249, group names hardly more."""

POST_PARTITIONS_MAX = 1_000_000
"""Maximum number of partitions in all events of a post: a range of many has few bytes in a post."""

_LABELS = ("group", "client_id", "assignor")
_KINDS = {MemberEvent.KIND: MemberEvent, AssignEvent.KIND: AssignEvent}


class LineError(InvalidInputError):
    """A line of a post is not an acceptable event. ``line`` counts from 1."""

    def __init__(self, line: int, error: InvalidInputError) -> None:
        """Take over field and problem of ``error``."""
        super().__init__(error.field, error.problem)
        self.line = line


def parse_events(lines: list[bytes]) -> tuple[Event, ...]:
    """The events of a post, one per line; empty lines are skipped.

    Raises:
        LineError: at the first line that is not a ``member`` or ``assign`` event, or exceeds a bound.
    """
    events: list[Event] = []
    left = POST_PARTITIONS_MAX
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                event = _event(line)
                left -= _partitions(event, left)
                events.append(event)
            except InvalidInputError as error:
                raise LineError(number, error) from None
    return tuple(events)


def _event(line: bytes) -> Event:
    if len(line) > LINE_BYTES_MAX:
        raise InvalidInputError("", f"has more than {LINE_BYTES_MAX} bytes")
    data = json_object(line)
    if isinstance(data, dict):
        if data.get("kind") not in list(_KINDS):
            raise InvalidInputError("kind", f"must be one of {', '.join(sorted(_KINDS))}")
        _bound(data)
    return event_from_json(data, partitions_max=MEMBER_PARTITIONS_MAX)


def _partitions(event: Event, left: int) -> int:
    number = count_partitions(event.partitions) if isinstance(event, MemberEvent) else 0
    if number > left:
        raise InvalidInputError("partitions", f"one post has more than {POST_PARTITIONS_MAX} partitions")
    return number


def _bound(data: Mapping[str, object]) -> None:
    for name in _LABELS:
        value = data.get(name)
        if isinstance(value, str) and len(value) > LABEL_MAX:
            raise InvalidInputError(name, f"must have at most {LABEL_MAX} characters")
