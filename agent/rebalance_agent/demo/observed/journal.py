"""The events of ``rebalance-events`` that the demo needs: each group's newest generation, and its episodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rebalance_agent.model.events import Event, GenerationEvent

__all__ = ["Journal", "slowest_client"]

EVENTS_MAX = 500
"""Generations kept per group: more than any timetable makes, little enough for a demo that runs all day."""


class Journal:
    """Generation events in order, of each the highest revision, of equals the first. Its owner locks."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        """Begin with ``events``."""
        self._groups: dict[str, dict[tuple[str, int], GenerationEvent]] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take one event in; kinds other than ``generation`` and older revisions change nothing."""
        if not isinstance(event, GenerationEvent):
            return
        events = self._groups.setdefault(event.group, {})
        key = (event.event_id, event.part)
        if key not in events or events[key].revision < event.revision:
            events[key] = event
        if len(events) > EVENTS_MAX:
            del events[next(iter(events))]

    def generations(self, group: str) -> list[GenerationEvent]:
        """The group's generations, oldest first; one that was split by member is whole again."""
        whole: dict[int, GenerationEvent] = {}
        for event in sorted(self._groups.get(group, {}).values(), key=lambda each: (each.timestamp_ms, each.part)):
            first = whole.get(event.generation)
            if first is not None and first.parts > 1 and event.part > 0:
                whole[event.generation] = replace(first, members=first.members + event.members)
            else:
                whole[event.generation] = event
        return list(whole.values())

    def newest(self, group: str) -> GenerationEvent | None:
        """The group's last generation."""
        generations = self.generations(group)
        return generations[-1] if generations else None

    def episodes(self, group: str) -> list[GenerationEvent]:
        """The closing events of the group's episodes, oldest first."""
        return [event for event in self.generations(group) if event.closes_episode]


def slowest_client(event: GenerationEvent) -> str | None:
    """Client id of the member that held the episode up; None where unknown."""
    clients = {member.member_id: member.client_id for member in event.members}
    return clients.get(event.slowest_member_id or "")
