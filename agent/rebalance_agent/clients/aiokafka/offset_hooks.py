"""Reports offsets and join times from aiokafka's responses to the instrumentation."""

from __future__ import annotations

from typing import Any

from rebalance_agent.clock import Clock
from rebalance_agent.instrumentation import Instrumentation
from rebalance_agent.instrumentation.suppress import quietly

__all__ = ["OffsetHooks"]

OFFSET_COMMIT = 8
OFFSET_FETCH = 9
JOIN_GROUP = 11
SYNC_GROUP = 14


class OffsetHooks:
    """Reads requests and responses of one consumer, without changing or delaying them."""

    def __init__(self, client: Any, instrumentation: Instrumentation, clock: Clock, *, from_start: bool) -> None:  # noqa: ANN401 - aiokafka is untyped
        """Replace ``client.send``, through which all requests go.

        ``from_start``: partitions without a committed offset are read from the oldest record.
        """
        self._instrumentation = instrumentation
        self._clock = clock
        self._from_start = from_start
        self._send = client.send
        self._join_seconds = self._answered = 0.0
        client.send = self.send

    async def send(self, node_id: int, request: Any, **options: Any) -> Any:  # noqa: ANN401
        """Like ``AIOKafkaClient.send``."""
        sent = self._clock.monotonic()
        response = await self._send(node_id, request, **options)
        with quietly("read the coordinator's answer"):
            self._record(request, response, sent)
        return response

    def _record(self, request: Any, response: Any, sent: float) -> None:  # noqa: ANN401
        progress = self._instrumentation.progress
        if request.API_KEY == JOIN_GROUP:
            self._answered = self._clock.monotonic()
            self._join_seconds = self._answered - sent
        elif request.API_KEY == SYNC_GROUP and response.error_code == 0:
            self._instrumentation.waited(self._join_seconds, self._clock.monotonic() - self._answered)
        elif request.API_KEY == OFFSET_COMMIT and progress is not None:
            accepted = {(topic, number) for topic, rows in response.topics for number, error in rows if error == 0}
            requested = {(topic, row[0]): row[1] for topic, rows in _topics_of(request) for row in rows}
            progress.committed({partition: requested[partition] for partition in accepted})
        elif request.API_KEY == OFFSET_FETCH and progress is not None:
            rows = {(topic, row[0]): row[1] for topic, rows in response.topics for row in rows if row[-1] == 0}
            offsets = {partition: offset for partition, offset in rows.items() if offset >= 0}
            progress.fetched(rows, offsets, from_start=self._from_start)


def _topics_of(request: Any) -> Any:  # noqa: ANN401
    """Return the topics of an OffsetCommit: a field in aiokafka 0.12, a private attribute in later versions."""
    return request.topics if hasattr(request, "topics") else request._topics  # noqa: SLF001
