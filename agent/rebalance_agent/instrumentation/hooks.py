"""`Instrumentation`: client adapters call it at each callback and `assign()`; it times them and reports events."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.instrumentation.consumer_progress import ConsumerProgress, Positions
from rebalance_agent.instrumentation.delivery.endpoint import Endpoint
from rebalance_agent.instrumentation.delivery.event_callback import OnEvent, find_callback
from rebalance_agent.instrumentation.delivery.reporter import Reporter
from rebalance_agent.instrumentation.event_builder import EventBuilder, HasTopicPartition
from rebalance_agent.instrumentation.instrumented_assignor import InstrumentedAssignor
from rebalance_agent.instrumentation.leading import Leading, reports_generations
from rebalance_agent.instrumentation.membership import Membership, MembershipSource
from rebalance_agent.instrumentation.rebalance_listener import AsyncRebalanceListener, RebalanceListener, is_async
from rebalance_agent.instrumentation.suppress import logger
from rebalance_agent.instrumentation.timed import TimedCallback
from rebalance_agent.instrumentation.warmup import warm_up
from rebalance_agent.model.events import Callback
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = ["Instrumentation"]


class Instrumentation:
    """Hooks of one consumer. They are thread-safe, do not block, and raise no exceptions of their own.

    ``leading`` handles the generations that the consumer leads; None if they are not reported.
    """

    def __init__(
        self,
        *,
        group: str,
        client_id: str,
        software: ClientSoftware | None = None,
        membership: MembershipSource = Membership,
        positions: Positions | None = None,
        clock: Clock | None = None,
        events_url: str | None = None,
        events_token: str | None = None,
        on_event: OnEvent | None = None,
        reporter: Reporter | None = None,
    ) -> None:
        """Watch one member.

        Args:
            group: the consumer group.
            client_id: the consumer's ``client.id``.
            software: the client library that joins the group, by the name that it sends to brokers (KIP-511).
            membership: returns the member's generation and ids; called for every event.
            positions: returns the client's positions. If it is given, the adapter also has to call ``progress`` with
                the offsets that are read and committed. Without it, records that are consumed again are not counted.
            clock: for every time in the events.
            events_url: the sidecar's URL; by default ``REBALANCE_AGENT_EVENTS_URL``, else the loopback address. An
                empty string sends no events, and so does an invalid URL, which is logged.
            events_token: bearer token for the sidecar; by default ``REBALANCE_AGENT_EVENTS_TOKEN``.
            on_event: called with each event as a sidecar gets it, a dict, on a thread of its own; by default the
            function that ``REBALANCE_AGENT_ON_EVENT`` names, ``module:name``. Its first exception is logged.
            reporter: used instead of a reporter to ``events_url`` and ``on_event``.

        """
        self._clock = clock or SystemClock()
        self.progress = None if positions is None else ConsumerProgress(positions)
        self._builder = EventBuilder(
            group,
            client_id,
            membership,
            reporter or _reporter(events_url, events_token, on_event),
            self.progress,
            software,
        )
        self.leading = Leading(self._builder, self._clock) if reports_generations() else None

    def listener(
        self,
        listener: Any | None = None,  # noqa: ANN401 - known by its methods only
        *,
        cooperative: bool = False,
    ) -> RebalanceListener:
        """Return a rebalance listener that times the user's own, if any; asynchronous if the user's is."""
        kind = AsyncRebalanceListener if is_async(listener) else RebalanceListener
        return kind(listener, self._builder, self._clock, cooperative=cooperative)

    def assignor(self, assignor: Any) -> InstrumentedAssignor:  # noqa: ANN401 - known by its methods only
        """Wrap ``assignor``, an instance, so that its ``assign()`` is timed and its result assessed."""
        return InstrumentedAssignor(assignor, self._builder, self._clock)

    def leaving(self, partitions: Iterable[HasTopicPartition] = ()) -> TimedCallback:
        """Return a context manager around a call that leaves the group: close or unsubscribe.

        ``partitions`` are given up without a callback. A member that is in no generation reports nothing.
        """
        joined = self._builder.current().joined
        return TimedCallback(self._builder if joined else None, self._clock, Callback.LEFT, tuple(partitions))

    def waited(self, join_seconds: float | None, sync_seconds: float | None) -> None:
        """Record how long the JoinGroup and the SyncGroup took, for the next event."""
        self._builder.waited(join_seconds, sync_seconds)

    def explained(self, reason: str, callbacks: Container[Callback] = (Callback.REVOKED, Callback.LOST)) -> None:
        """Add the client's ``reason`` to the last event, if its callback is among ``callbacks``."""
        self._builder.explained(reason, callbacks)


def _reporter(url: str | None, token: str | None, on_event: OnEvent | None) -> Reporter:
    endpoint = callback = None
    try:
        endpoint = Endpoint.of(url, token)
    except InvalidInputError as error:
        logger.error("%s; no events are sent", error)
    try:
        callback = find_callback(on_event)
    except InvalidInputError as error:
        logger.error("%s; it is not called", error)
    if endpoint is not None or callback is not None:
        warm_up()
    return Reporter(endpoint, callback)
