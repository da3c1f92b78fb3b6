"""Topics that a strategy needs besides those subscribed to: looked up before it is called, where waiting is allowed.

aiokafka calls assignors in the event loop, and from there nothing can be asked. So the cluster is asked when the leader
has its members, and the strategy reads the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from rebalance_agent.assignors import Strategy
from rebalance_agent.errors import ClusterError
from rebalance_agent.instrumentation.assignor_shapes import partition_counts

__all__ = ["ANSWER_SECONDS", "TopicsBeforeAssign"]

ANSWER_SECONDS = 2.0
"""How long a rebalance may wait for the answer: less than a session timeout, and more than a healthy cluster needs."""


class TopicsBeforeAssign:
    """A ``TopicSource`` that knows what the last `look` has seen, and creates nothing."""

    def __init__(self, strategies: Iterable[Strategy]) -> None:
        """Look for those of ``strategies`` that may need internal topics."""
        self._needing = {each.name for each in strategies if each.internal_topics is not None}
        self._cluster: Any = None
        self._problem = "the cluster has not been asked"

    async def look(self, client: Any, strategy_name: str) -> None:  # noqa: ANN401 - aiokafka is untyped
        """Ask for all topics, if that strategy may need some. What goes wrong comes up when they are needed."""
        if strategy_name not in self._needing:
            return
        self._cluster = None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                # All of them: asked for by name, aiokafka would have a topic that is missing created.
                self._cluster = await client.fetch_all_metadata()
        except TimeoutError:
            self._problem = f"the cluster did not answer within {ANSWER_SECONDS:g} s"
        except Exception as error:  # noqa: BLE001 - whatever it is: a group that needs no such topics goes on
            self._problem = f"{type(error).__name__}: {error}"

    def partitions_of(self, topics: Collection[str]) -> dict[str, int]:
        """Those of ``topics`` that were there -> how many partitions they had.

        Raises:
            ClusterError: that could not be known.
        """
        if self._cluster is None:
            raise ClusterError(f"internal topics cannot be checked: {self._problem}")
        return {topic: known.partitions for topic, known in partition_counts(self._cluster, topics).items()}

    def create_topics(self, topics: Mapping[str, int]) -> None:
        """Never.

        Raises:
            ClusterError: always.
        """
        raise ClusterError(f"internal topics {', '.join(sorted(topics))}: create them; this client does not")
