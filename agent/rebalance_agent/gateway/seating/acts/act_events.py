"""Publishes acts on seats as events, and later the outcomes of these acts as revisions of the same events."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rebalance_agent.clock import Clock
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.group_event import process_event_id
from rebalance_agent.model.reported.seat_event import Act, ActOutcome, SeatEvent

__all__ = ["EVENTS_MAX", "OPEN_MAX", "ActEvents", "EmitAct"]

PUBLISHED = frozenset({Act.SEAT, Act.ADMIT, Act.HANDOVER, Act.KEEP, Act.GIVE_UP})
"""The acts that are published as events: they change a membership or its start time. Other acts get no event."""

KNOWN = frozenset({ActOutcome.RIGHT, ActOutcome.WRONG, ActOutcome.UNKNOWN})
"""The outcomes that become known, and are published, after their act was published."""

EVENTS_SECONDS = 10.0
EVENTS_MAX = 1_000
"""Maximum number of events in `EVENTS_SECONDS`, since clients can cause any number. A deploy of a few hundred consumers
causes fewer."""

OPEN_MAX = 1_000
"""Maximum number of published acts whose outcomes are still unknown and can be published later."""

TEXT_MAX = 200
"""Maximum number of characters of a name: clients choose names of any length."""

_TEXTS = ("member_id", "client_id", "host", "instance_id", "reason", "former_member_id")
_FIELDS = (*_TEXTS, "generation", "stopped_ms", "held_seconds", "together")

_NAMED_BY_COORDINATOR = ("client_id", "host")
"""The fields that the coordinator itself reports for the consumer that took a seat, in KIP-848 groups. In classic
groups the coordinator keeps reporting the client id and host of the former consumer."""

EmitAct = Callable[[SeatEvent, int], None]
"""Publishes an event; the number counts the events left out before this event. It never blocks or raises."""


class ActEvents:
    """The events of one gateway's seats; ``process``: a random text, new at each start of the gateway."""

    def __init__(self, emit: EmitAct, clock: Clock, process: str) -> None:
        """Start without acts."""
        self._emit, self._clock, self._process = emit, clock, process
        self._sequence = self._left_out = self._emitted = 0
        self._since = float("-inf")
        self._open: OrderedDict[tuple[Act, str, str], SeatEvent] = OrderedDict()
        self._handovers: OrderedDict[tuple[str, str], tuple[Act, str, str]] = OrderedDict()

    def report(self, act: Act, outcome: ActOutcome, group: str, facts: Mapping[str, Any]) -> None:
        """Publish an act, with the ``facts`` that have a field in events; or the outcome of an act published before."""
        if act not in PUBLISHED:
            return
        key = _key(act, group, str(facts.get("member_id", "")))
        if outcome in KNOWN:
            event = self._open.get(key)
            if event is not None:
                figures = {name: facts[name] for name in ("rebalances_spared",) if name in facts}
                self._publish(key, replace(event, outcome=outcome, revision=event.revision + 1, **figures))
            return
        self._sequence += 1
        values = {name: facts[name] for name in _FIELDS if facts.get(name) not in (None, "")}
        values |= {name: str(values[name])[:TEXT_MAX] for name in _TEXTS if name in values}
        values.setdefault("member_id", "")
        if act is Act.HANDOVER and facts.get("group_type") is GroupType.CONSUMER:
            values = {name: value for name, value in values.items() if name not in _NAMED_BY_COORDINATOR}
        event = SeatEvent(
            event_id=process_event_id(SeatEvent.KIND, self._process, self._sequence),
            group=group,
            timestamp_ms=self._clock.now_ms(),
            act=act,
            outcome=outcome,
            process=self._process,
            sequence=self._sequence,
            **values,
        )
        if event.former_member_id and event.stopped_ms is not None:
            self._handovers[group, event.former_member_id] = key
            if len(self._handovers) > OPEN_MAX:
                self._handovers.popitem(last=False)
        self._publish(key, event)

    def spared(self, act: Act, group: str, member_id: str, partition_seconds: float) -> None:
        """Publish a lower bound on the stall (partition-seconds) that an act avoided."""
        key = _key(act, group, member_id)
        event = self._open.get(key)
        if event is not None:
            seconds = round(partition_seconds, 3)
            self._publish(key, replace(event, partition_seconds_spared=seconds, revision=event.revision + 1))

    def heard(self, group: str, member_id: str) -> None:
        """Withdraw the time by which a seat's former member had stopped, since its client still sends requests."""
        if not self._handovers or (key := self._handovers.pop((group, member_id[:TEXT_MAX]), None)) is None:
            return
        event = self._open.get(key)
        if event is not None:
            self._publish(key, replace(event, stopped_ms=None, revision=event.revision + 1))

    def _publish(self, key: tuple[Act, str, str], event: SeatEvent) -> None:
        now = self._clock.monotonic()
        if now - self._since >= EVENTS_SECONDS:
            self._since, self._emitted = now, 0
        if self._emitted >= EVENTS_MAX:
            self._left_out += 1
            return
        self._emitted += 1
        if event.outcome is not ActOutcome.REFUSED:
            self._open[key] = event
            self._open.move_to_end(key)
            if len(self._open) > OPEN_MAX:
                self._open.popitem(last=False)
        left_out, self._left_out = self._left_out, 0
        self._emit(event, left_out)


def _key(act: Act, group: str, member_id: str) -> tuple[Act, str, str]:
    return act, group, member_id[:TEXT_MAX]
