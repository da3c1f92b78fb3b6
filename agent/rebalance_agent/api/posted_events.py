"""Parses the body of a post into events: it checks limits first, and accepts either all events or none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast, get_args

from rebalance_agent.errors import InvalidFieldsError, InvalidInputError, WrongField
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.model.events import MEMBER_PARTITIONS_MAX, AssignEvent, Event, MemberEvent
from rebalance_agent.model.group_event import digest, process_event_id
from rebalance_agent.model.reported.led_generation import LedGenerationEvent

__all__ = [
    "FAULTS_MAX",
    "LABEL_MAX",
    "LINE_BYTES_MAX",
    "POSTED_KINDS",
    "POST_PARTITIONS_MAX",
    "TEXTS_MAX",
    "TEXT_MAX",
    "TOPIC_CLAIMS",
    "PostError",
    "count_claims",
    "count_values",
    "parse_events",
]

LINE_BYTES_MAX = 256 * 1024
"""Maximum size of one event in bytes: an event of a member that owns thousands of topics, as ranges, is smaller."""

LABEL_MAX = 1_024
"""Maximum number of characters of a text that becomes a label: topic names have up to 249, and group names hardly
more."""

POST_PARTITIONS_MAX = 1_000_000
"""Maximum number of partitions in all events of a post, as `count_claims` counts them: a range of many partitions has
few bytes in a post."""

TOPIC_CLAIMS = 20
"""The lowest count of a topic, in partitions: a topic takes a sidecar about 20 µs."""

FAULTS_MAX = 100
"""Number of faults in a post after which the post's other lines are not read. A user corrects all these faults before
the next attempt."""

TEXT_MAX = 4_096
"""Maximum number of characters of any other text field. Sidecars compress events, and observers need memory for the
decompressed events."""

TEXTS_MAX: Mapping[str, int] = {
    **dict.fromkeys(("group", "client_id", "assignor"), LABEL_MAX),
    **dict.fromkeys(
        ("process", "cluster_id", "member_id", "leader", "instance_id", "host", "error", "reason"), TEXT_MAX
    ),
}
"""Field -> maximum number of characters, for all text fields except ``event_id``, which is hashed. Three of them become
labels."""

_Posted = MemberEvent | AssignEvent | LedGenerationEvent
POSTED_KINDS: Mapping[str, type[_Posted]] = {kind.KIND: kind for kind in get_args(_Posted)}
"""``kind`` -> class of the events that a post may contain."""


class PostError(InvalidFieldsError):
    """Lines of a post are not acceptable events. ``lines`` has the number (from 1) of each fault's line."""

    def __init__(self, faults: Sequence[tuple[int, WrongField]]) -> None:
        """``faults``: pairs of a line number and a wrong field, in the order of the lines."""
        super().__init__([fault for _, fault in faults])
        self.lines = tuple(line for line, _ in faults)
        self.line = self.lines[0]


def parse_events(lines: list[bytes]) -> tuple[_Posted, ...]:
    """Return the events of a post, one per line; empty lines are skipped.

    An event without ``event_id`` gets the id that `process_event_id` derives from the event's process and sequence. Any
    other id is hashed.

    Raises:
        PostError: a line is not an event of `POSTED_KINDS`, or exceeds a bound. The error has the faults of the lines
        that were read, up to the line at which there are `FAULTS_MAX` faults.
    """
    events: list[_Posted] = []
    faults: list[tuple[int, WrongField]] = []
    left = POST_PARTITIONS_MAX
    for number, line in enumerate(lines, start=1):
        if line.strip() and len(faults) < FAULTS_MAX:
            try:
                event = _event(line)
                left -= _partitions(event, left)
                events.append(event)
            except InvalidInputError as error:
                faults += [(number, fault) for fault in error.faults]
    if faults:
        raise PostError(faults)
    return tuple(events)


def count_claims(event: Event) -> int:
    """Return the number of partitions in a report; a topic with fewer than `TOPIC_CLAIMS` counts as that many."""
    if not isinstance(event, MemberEvent):
        return 0
    return sum(max(TOPIC_CLAIMS, len(numbers)) for numbers in event.partitions.values())


def count_values(body: bytes) -> int:
    """Return about how many fields and ranges of partitions a post has: the number of its commas.

    To count commas takes less than 1 ms. A range takes a sidecar more than 1 µs, even if it has only one partition.
    """
    return body.count(b",")


def _event(line: bytes) -> _Posted:
    if len(line) > LINE_BYTES_MAX:
        raise InvalidInputError("", f"has more than {LINE_BYTES_MAX} bytes")
    data = json_object(line)
    if not isinstance(data, dict):
        raise InvalidInputError("", "an event must be a JSON object")
    if data.get("kind") not in list(POSTED_KINDS):
        raise InvalidInputError("kind", f"must be one of {', '.join(sorted(POSTED_KINDS))}")
    faults = {fault.field: fault for fault in _long_texts(data)}
    try:
        event = cast("_Posted", event_from_json({"event_id": "", **data}, partitions_max=MEMBER_PARTITIONS_MAX))
    except InvalidInputError as error:
        faults = {fault.field: fault for fault in error.faults} | faults
    if faults:
        raise InvalidFieldsError(tuple(faults.values()))
    return replace(event, event_id=_id_of(event, given=event.event_id if "event_id" in data else None))


def _id_of(event: _Posted, given: str | None) -> str:
    """Return the id of a posted event.

    Readers keep one event for each id. With an id of its own choice, a post could replace any other event, such as a
    group's generation, whose id can be computed.
    """
    ours = process_event_id(event.KIND, event.process, event.sequence)
    return ours if given in (None, ours) else digest(event.KIND, given)


def _partitions(event: _Posted, left: int) -> int:
    number = count_claims(event)
    if number > left:
        raise InvalidInputError("partitions", f"one post has more than {POST_PARTITIONS_MAX} partitions")
    return number


def _long_texts(data: Mapping[str, object]) -> Iterator[WrongField]:
    for name, length in TEXTS_MAX.items():
        value = data.get(name)
        if isinstance(value, str) and len(value) > length:
            yield WrongField(name, f"must have at most {length} characters")
