"""`Instrumentation`: all that one consumer's adapter needs to know of this room."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.instrumentation.consumer_progress import ConsumerProgress, Positions
from rebalance_agent.instrumentation.endpoint import Endpoint
from rebalance_agent.instrumentation.event_builder import EventBuilder, HasTopicPartition
from rebalance_agent.instrumentation.instrumented_assignor import InstrumentedAssignor
from rebalance_agent.instrumentation.membership import Membership, MembershipSource
from rebalance_agent.instrumentation.rebalance_listener import AsyncRebalanceListener, RebalanceListener, is_async
from rebalance_agent.instrumentation.reporter import Reporter
from rebalance_agent.instrumentation.suppress import logger
from rebalance_agent.instrumentation.timed import TimedCallback
from rebalance_agent.instrumentation.warmup import warm_up
from rebalance_agent.model.events import Callback

__all__ = ["Instrumentation"]


class Instrumentation:
    """The hooks of one consumer. Any thread may call them; they never wait, and raise nothing of their own."""

    def __init__(
        self,
        *,
        group: str,
        client_id: str,
        membership: MembershipSource = Membership,
        positions: Positions | None = None,
        clock: Clock | None = None,
        events_url: str | None = None,
        events_token: str | None = None,
        reporter: Reporter | None = None,
    ) -> None:
        """Watch one member.

        Args:
            group: the consumer group.
            client_id: the consumer's ``client.id``.
            membership: asks the client where the member stands; called whenever something happens.
            positions: asks the client how far it is; None: it cannot say, and nothing is told of records that are
                consumed once more. ``progress`` then wants to hear what is read and committed.
            clock: for every time in the events.
            events_url: the sidecar's; by default ``REBALANCE_AGENT_EVENTS_URL``, else the loopback address. The empty
                text, or one that is no URL (it is logged), sends nothing.
            events_token: bearer token for it; by default ``REBALANCE_AGENT_EVENTS_TOKEN``.
            reporter: instead of one that sends to ``events_url``.

        """
        self._clock = clock or SystemClock()
        self.progress = None if positions is None else ConsumerProgress(positions)
        self._builder = EventBuilder(
            group, client_id, membership, reporter or _reporter(events_url, events_token), self.progress
        )

    def listener(
        self,
        listener: Any | None = None,  # noqa: ANN401 - known by its methods only
        *,
        cooperative: bool = False,
    ) -> RebalanceListener:
        """A rebalance listener around the user's own, if any; with ``async def`` methods if that has them."""
        kind = AsyncRebalanceListener if is_async(listener) else RebalanceListener
        return kind(listener, self._builder, self._clock, cooperative=cooperative)

    def assignor(self, assignor: Any) -> InstrumentedAssignor:  # noqa: ANN401 - known by its methods only
        """``assignor``, an instance, with its ``assign()`` timed and judged."""
        return InstrumentedAssignor(assignor, self._builder, self._clock)

    def leaving(self, partitions: Iterable[HasTopicPartition] = ()) -> TimedCallback:
        """A context manager around what makes the consumer leave its group on purpose.

        ``partitions``: what it gives up without a callback. Who is in no generation has nothing to leave.
        """
        joined = self._builder.current().joined
        return TimedCallback(self._builder if joined else None, self._clock, Callback.LEFT, tuple(partitions))

    def waited(self, join_seconds: float | None, sync_seconds: float | None) -> None:
        """The member has had the answers to its JoinGroup and SyncGroup; what is told next says how long they took."""
        self._builder.waited(join_seconds, sync_seconds)

    def explained(self, reason: str, callbacks: Container[Callback] = (Callback.REVOKED, Callback.LOST)) -> None:
        """The client says after the callback why partitions were revoked or lost; of which, say ``callbacks``."""
        self._builder.explained(reason, callbacks)


def _reporter(url: str | None, token: str | None) -> Reporter:
    try:
        endpoint = Endpoint.of(url, token)
    except InvalidInputError as error:
        logger.error("%s; no events are sent", error)
        endpoint = None
    if endpoint is not None:
        warm_up()
    return Reporter(endpoint)
