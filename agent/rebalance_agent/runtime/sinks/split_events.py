"""Splits events with very many members into parts that each fit into one Kafka message, and joins the parts. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Event, GenerationEvent, MemberSnapshot
from rebalance_agent.model.group_event import event_id

__all__ = ["MESSAGE_BYTES_MAX", "event_lines", "whole_events"]

MESSAGE_BYTES_MAX = 900_000
"""Maximum size of an event's line in bytes: brokers accept 1,048,588 by default, including key and headers."""


def event_lines(event: Event, size_max: int = MESSAGE_BYTES_MAX) -> list[tuple[Event, bytes]]:
    """Return the event as one or more parts, each with its JSON line of at most ``size_max`` bytes.

    Only members are spread over parts. A part with a single member that is still too large is returned unchanged, and
    the caller counts it as lost. All fields except ``event_id``, ``members``, ``part`` and ``parts`` are equal.
    """
    line = json_line(event)
    if len(line) <= size_max or not isinstance(event, GenerationEvent):
        return [(event, line)]
    shares = _split(event, event.members, size_max)
    parts = (_part(event, members, number, len(shares)) for number, members in enumerate(shares))
    return [(part, json_line(part)) for part in parts]


def whole_events(events: Iterable[Event]) -> Iterator[Event]:
    """Yield one group's ``events`` in order, with the parts from `event_lines` joined again.

    The parts of one event follow each other, since one producer writes them. An event with a missing part is left out.
    """
    parts: list[GenerationEvent] = []
    for event in events:
        if not isinstance(event, GenerationEvent) or event.parts == 1:
            yield event
            continue
        follows = parts and (event.part, event.parts, event.timestamp_ms, event.revision) == (
            len(parts),
            parts[0].parts,
            parts[0].timestamp_ms,
            parts[0].revision,
        )
        parts = [*parts, event] if follows else [event] if event.part == 0 else []
        if parts and len(parts) == event.parts:
            members = tuple(member for part in parts for member in part.members)
            yield dataclasses.replace(parts[0], members=members, part=0, parts=1)
            parts = []


def _split(
    event: GenerationEvent, members: Sequence[MemberSnapshot], size_max: int
) -> list[tuple[MemberSnapshot, ...]]:
    # Sizes are computed with the longest part numbers, so that no numbering puts a part over the limit.
    if len(members) <= 1 or len(json_line(_part(event, members, len(event.members), len(event.members)))) <= size_max:
        return [tuple(members)]
    middle = len(members) // 2
    return _split(event, members[:middle], size_max) + _split(event, members[middle:], size_max)


def _part(event: GenerationEvent, members: Sequence[MemberSnapshot], part: int, parts: int) -> GenerationEvent:
    identity = event.event_id
    if part:
        identity = event_id(
            event.KIND,
            event.cluster_id,
            event.group,
            event.group_type,
            event.generation,
            event.timestamp_ms,
            part=part,
        )
    return dataclasses.replace(event, members=tuple(members), part=part, parts=parts, event_id=identity)
