"""Between aiokafka's consumer and the broker: offsets as they come and go, and how long a join took."""

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
    """Listens to one consumer's requests and their answers; neither is changed, and nothing waits."""

    def __init__(self, client: Any, instrumentation: Instrumentation, clock: Clock, *, from_start: bool) -> None:  # noqa: ANN401 - aiokafka is untyped
        """Take over ``client.send``, which every request passes.

        ``from_start``: where the group has no offset, reading begins with the oldest record.
        """
        self._instrumentation = instrumentation
        self._clock = clock
        self._from_start = from_start
        self._send = client.send
        self._join_seconds = self._answered = 0.0
        client.send = self.send

    async def send(self, node_id: int, request: Any, **options: Any) -> Any:  # noqa: ANN401
        """As ``AIOKafkaClient.send``."""
        sent = self._clock.monotonic()
        response = await self._send(node_id, request, **options)
        with quietly("read what the coordinator answered"):
            self._listen(request, response, sent)
        return response

    def _listen(self, request: Any, response: Any, sent: float) -> None:  # noqa: ANN401
        progress = self._instrumentation.progress
        if request.API_KEY == JOIN_GROUP:
            self._answered = self._clock.monotonic()
            self._join_seconds = self._answered - sent
        elif request.API_KEY == SYNC_GROUP and response.error_code == 0:
            self._instrumentation.waited(self._join_seconds, self._clock.monotonic() - self._answered)
        elif request.API_KEY == OFFSET_COMMIT and progress is not None:
            taken = {(topic, number) for topic, rows in response.topics for number, error in rows if error == 0}
            wanted = {(topic, row[0]): row[1] for topic, rows in _topics_of(request) for row in rows}
            progress.committed({each: wanted[each] for each in taken})
        elif request.API_KEY == OFFSET_FETCH and progress is not None:
            rows = {(topic, row[0]): row[1] for topic, rows in response.topics for row in rows if row[-1] == 0}
            found = {each: offset for each, offset in rows.items() if offset >= 0}
            progress.fetched(rows, found, from_start=self._from_start)


def _topics_of(request: Any) -> Any:  # noqa: ANN401
    """The topics of an OffsetCommit: aiokafka 0.12 has them as a field, later ones as a private attribute."""
    return request.topics if hasattr(request, "topics") else request._topics  # noqa: SLF001
