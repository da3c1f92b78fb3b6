"""Partition counts of the cluster's topics: what subscriptions are judged against, and how readers see growth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rebalance_agent.collectors.context import Context
from rebalance_agent.collectors.poll import Poll
from rebalance_agent.rebalances.observations import TopicsSeen

__all__ = ["NAMELESS_S", "TopicsPoll"]


NAMELESS_S = 60.0
"""How long it is believed that an id is of no topic: records go on naming one that was deleted."""


class TopicsPoll:
    """Puts `TopicsSeen` and tells ``listeners`` the counts."""

    def __init__(self, context: Context, listeners: Iterable[Callable[[Mapping[str, int]], None]] = ()) -> None:
        """``listeners`` are called in the poll's thread."""
        self._context = context
        self._listeners = tuple(listeners)
        self._known: Mapping[str, int] = {}
        self._ids: dict[str, str] = {}
        self._known_ids: frozenset[str] = frozenset()
        self._strange: frozenset[str] = frozenset()
        self._nameless: frozenset[str] = frozenset()
        self._nameless_until = float("-inf")
        self.poll = Poll("topics", self._ask, context)

    def unknown(self, topics: Iterable[str], ids: Iterable[str] = ()) -> bool:
        """Whether it is worth a look: any topic of that name or id was not there when topics were last read."""
        if strange := frozenset(ids) - self._known_ids:
            strange -= self._nameless_now()
            self._strange |= strange
        return bool(strange) or any(topic not in self._known for topic in topics)

    def _ask(self) -> None:
        asked = self._context.clock.now_ms()
        _, counts = self._context.cluster.identify()
        self._known = counts
        ids = {topic: topic_id for topic, topic_id in self._ids.items() if topic in counts}
        # A topic that was deleted and made anew under its name has another id: where one is missed, all are asked for.
        strange, self._strange = self._strange, frozenset()
        self._ids = ids | self._context.cluster.topic_ids(counts if strange else counts.keys() - ids.keys())
        self._known_ids = frozenset(self._ids.values())
        if nameless := strange - self._known_ids:
            self._nameless = nameless | self._nameless_now()
            self._nameless_until = self._context.clock.monotonic() + NAMELESS_S
        self._context.inbox.offer(TopicsSeen(asked, counts, self._ids))
        for listener in self._listeners:
            listener(counts)

    def _nameless_now(self) -> frozenset[str]:
        return self._nameless if self._context.clock.monotonic() < self._nameless_until else frozenset()
