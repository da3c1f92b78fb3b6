"""Stores the ``generation`` events of ``rebalance-events`` by group."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace

from rebalance_agent.model.events import Event, GenerationEvent

__all__ = ["Journal", "slowest_client"]

EVENTS_MAX = 500
"""Maximum number of events kept for each group: more than the timetable causes, and bounded for a demo without end."""


class Journal:
    """Generation events by group; of an event's revisions the highest, of equal ones the first. Thread-safe."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        """Start with ``events``."""
        self._groups: dict[str, dict[tuple[str, int], GenerationEvent]] = {}
        self._lock = threading.Lock()
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Add one event; other kinds than ``generation`` and lower revisions are ignored."""
        if not isinstance(event, GenerationEvent):
            return
        with self._lock:
            events = self._groups.setdefault(event.group, {})
            known = events.setdefault((event.event_id, event.part), event)
            if event.revision > known.revision:
                events[event.event_id, event.part] = event
            if len(events) > EVENTS_MAX:
                del events[next(iter(events))]

    def generations(self, group: str) -> list[GenerationEvent]:
        """Return the group's generations, oldest first, with the parts of split events joined."""
        with self._lock:
            events = sorted(self._groups.get(group, {}).values(), key=lambda event: (event.timestamp_ms, event.part))
        whole: dict[int, GenerationEvent] = {}
        for event in events:
            first = whole.setdefault(event.generation, event)
            if first.parts > 1 and event.part > 0 and first is not event:
                whole[event.generation] = replace(first, members=first.members + event.members)
            else:
                whole[event.generation] = event
        return list(whole.values())

    def newest(self, group: str) -> GenerationEvent | None:
        """Return the group's newest generation; None if there is none."""
        return next(reversed(self.generations(group)), None)

    def episodes(self, group: str) -> list[GenerationEvent]:
        """Return the closing events of the group's episodes, oldest first."""
        return [event for event in self.generations(group) if event.closes_episode]


def slowest_client(event: GenerationEvent) -> str | None:
    """Return the client id of the slowest member of an episode; None if unknown."""
    clients = {member.member_id: member.client_id for member in event.members}
    return clients.get(event.slowest_member_id or "")
