"""Stores the ``generation`` events of ``rebalance-events`` by group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rebalance_agent.model.events import Event, GenerationEvent

__all__ = ["Journal", "slowest_client"]

EVENTS_MAX = 500
"""Maximum number of events kept for each group: more than the timetable causes, and bounded for a demo without end."""


class Journal:
    """Generation events by group; of an event's revisions the highest, of equal ones the first. Not thread-safe."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        """Start with ``events``."""
        self._groups: dict[str, dict[tuple[str, int], GenerationEvent]] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Add one event; other kinds than ``generation`` and lower revisions are ignored."""
        if not isinstance(event, GenerationEvent):
            return
        events = self._groups.setdefault(event.group, {})
        key = (event.event_id, event.part)
        if key not in events or events[key].revision < event.revision:
            events[key] = event
        if len(events) > EVENTS_MAX:
            del events[next(iter(events))]

    def generations(self, group: str) -> list[GenerationEvent]:
        """Return the group's generations, oldest first, with the parts of split events joined."""
        whole: dict[int, GenerationEvent] = {}
        for event in sorted(self._groups.get(group, {}).values(), key=lambda each: (each.timestamp_ms, each.part)):
            first = whole.get(event.generation)
            if first is not None and first.parts > 1 and event.part > 0:
                whole[event.generation] = replace(first, members=first.members + event.members)
            else:
                whole[event.generation] = event
        return list(whole.values())

    def newest(self, group: str) -> GenerationEvent | None:
        """Return the group's newest generation; None if there is none."""
        generations = self.generations(group)
        return generations[-1] if generations else None

    def episodes(self, group: str) -> list[GenerationEvent]:
        """Return the closing events of the group's episodes, oldest first."""
        return [event for event in self.generations(group) if event.closes_episode]


def slowest_client(event: GenerationEvent) -> str | None:
    """Return the client id of the slowest member of an episode; None if unknown."""
    clients = {member.member_id: member.client_id for member in event.members}
    return clients.get(event.slowest_member_id or "")
