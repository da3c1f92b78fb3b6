"""Publishes what `ShareCounters` counts, so that observers can show it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Mapping

from rebalance_agent.clock import Clock
from rebalance_agent.gateway.share_groups.share_counters import ShareCounters
from rebalance_agent.model.group_event import process_event_id
from rebalance_agent.model.reported.deliveries_event import DELIVERED_MAX, DeliveriesEvent, ShareDeliveries

__all__ = ["CHECK_SECONDS", "PUBLISH_SECONDS", "DeliveryReports"]

PUBLISH_SECONDS = 60.0
"""Shortest time between two events of a group: one event a minute shows the deliveries soon enough, and costs less than
the deliveries."""

CHECK_SECONDS = 5.0
"""Seconds between two looks for groups whose records have changed. A group's first event comes after this time."""


class DeliveryReports:
    """The events of one gateway process. Not thread-safe; ``emit`` is called in the thread of the caller."""

    def __init__(self, counts: ShareCounters, clock: Clock, emit: Callable[[DeliveriesEvent], None]) -> None:
        """Report ``counts`` from now on."""
        self._counts, self._clock, self._emit = counts, clock, emit
        self._process, self._since_ms = uuid.uuid4().hex, clock.now_ms()
        self._sequence = 0
        self._published: dict[str, tuple[Mapping[str, int], float]] = {}

    async def run(self) -> None:
        """Publish regularly, until it is cancelled."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            self.publish()

    def publish(self, *, last: bool = False) -> None:
        """Publish the sums that have changed; ``last``: also those of groups with an event in the last minute."""
        now = self._clock.monotonic()
        for group, sums in self._counts.sums.items():
            before, at = self._published.get(group, ({}, -PUBLISH_SECONDS))
            if sums != before and (last or now - at >= PUBLISH_SECONDS):
                self._published[group] = dict(sums), now
                self._emit(self._event(group, sums))

    def _event(self, group: str, sums: Mapping[str, int]) -> DeliveriesEvent:
        self._sequence += 1
        numbers = {name: min(number, DELIVERED_MAX) for name, number in sums.items()}
        return DeliveriesEvent(
            event_id=process_event_id(DeliveriesEvent.KIND, self._process, self._sequence),
            group=group,
            timestamp_ms=self._clock.now_ms(),
            deliveries=ShareDeliveries(self._since_ms, **numbers),
            process=self._process,
            sequence=self._sequence,
        )
