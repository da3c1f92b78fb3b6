"""Tracks whether the consumers that report events to a sidecar have their assignment, from these events."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_agent.http.latched_readiness import LatchedReadiness
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import Callback, Event, MemberEvent
from rebalance_agent.model.member_changes import consumer_name

__all__ = ["note_reports"]


def note_reports(readiness: LatchedReadiness, events: Iterable[Event]) -> None:
    """Process members' reports, except those of members behind a gateway, whose frames show more."""
    for event in events:
        if isinstance(event, MemberEvent) and event.evidence is not Evidence.GATEWAY:
            if event.callback is Callback.ASSIGNED:
                readiness.works(event.process)
            elif event.callback is Callback.LEFT:
                readiness.gone(event.process)
            else:
                name = consumer_name(event.client_id, event.group)
                readiness.waits(event.process, f"{name} has no assignment")
