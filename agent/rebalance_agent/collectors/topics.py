"""Partition counts of the cluster's topics: what subscriptions are judged against, and how readers see growth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rebalance_agent.collectors.context import Context
from rebalance_agent.collectors.poll import Poll
from rebalance_agent.rebalances.observations import TopicsSeen

__all__ = ["TopicsPoll"]


class TopicsPoll:
    """Puts `TopicsSeen` and tells ``listeners`` the counts."""

    def __init__(self, context: Context, listeners: Iterable[Callable[[Mapping[str, int]], None]] = ()) -> None:
        """``listeners`` are called in the poll's thread."""
        self._context = context
        self._listeners = tuple(listeners)
        self._known: Mapping[str, int] = {}
        self._ids: dict[str, str] = {}
        self._known_ids: frozenset[str] = frozenset()
        self.poll = Poll("topics", self._ask, context)

    def unknown(self, topics: Iterable[str], ids: Iterable[str] = ()) -> bool:
        """Whether any topic of that name or id was not there when the topics were last read."""
        return any(topic not in self._known for topic in topics) or any(each not in self._known_ids for each in ids)

    def _ask(self) -> None:
        asked = self._context.clock.now_ms()
        _, counts = self._context.cluster.identify()
        self._known = counts
        self._ids = {topic: topic_id for topic, topic_id in self._ids.items() if topic in counts}
        self._ids |= self._context.cluster.topic_ids(counts.keys() - self._ids.keys())
        self._known_ids = frozenset(self._ids.values())
        self._context.inbox.offer(TopicsSeen(asked, counts, self._ids))
        for listener in self._listeners:
            listener(counts)
