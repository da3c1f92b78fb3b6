"""Looks up internal topics that a strategy needs before the strategy is called.

aiokafka calls assignors in the event loop, where they cannot wait for a response. So the metadata is fetched when the
leader has received its members, and the strategy reads the result.
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
"""Time that a rebalance waits for the metadata: less than a session timeout, more than a healthy cluster needs."""


class TopicsBeforeAssign:
    """A ``TopicSource`` with the result of the last `fetch`. It creates no topics."""

    def __init__(self, strategies: Iterable[Strategy]) -> None:
        """Fetch metadata for those of ``strategies`` that may need internal topics."""
        self._needing = {strategy.name for strategy in strategies if strategy.internal_topics is not None}
        self._cluster: Any = None
        self._problem = "the cluster has not responded yet"

    async def fetch(self, client: Any, strategy_name: str) -> None:  # noqa: ANN401 - aiokafka is untyped
        """Fetch metadata of all topics, if the strategy may need some. A failure is raised by `partitions_of` only."""
        if strategy_name not in self._needing:
            return
        self._cluster = None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                # Request all topics: a request by name would make brokers create a missing one.
                self._cluster = await client.fetch_all_metadata()
        except TimeoutError:
            self._problem = f"the cluster did not respond within {ANSWER_SECONDS:g} s"
        except Exception as error:  # noqa: BLE001 - a group that needs no internal topics continues, whatever failed
            self._problem = f"{type(error).__name__}: {error}"

    def partitions_of(self, topics: Collection[str]) -> dict[str, int]:
        """Return topic -> partition count, for those of ``topics`` that existed at the last `fetch`.

        Raises:
            ClusterError: the last `fetch` failed.
        """
        if self._cluster is None:
            raise ClusterError(f"internal topics cannot be checked: {self._problem}")
        return {topic: metadata.partitions for topic, metadata in partition_counts(self._cluster, topics).items()}

    def create_topics(self, topics: Mapping[str, int]) -> None:
        """Refuse to create topics.

        Raises:
            ClusterError: always.
        """
        raise ClusterError(f"internal topics {', '.join(sorted(topics))}: create them, because this client cannot")
