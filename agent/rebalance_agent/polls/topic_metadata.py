"""Partition counts of the cluster's topics: what subscriptions are judged against, and how readers see growth."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.repeated_poll import Poll
from rebalance_agent.tracking.observations import TopicsSeen

__all__ = ["NAMELESS_S", "TopicsPoll"]


NAMELESS_S = 60.0
"""How long it is believed that an id is of no topic: records go on naming one that was deleted."""


class TopicsPoll:
    """Puts `TopicsSeen` and tells ``listeners`` the counts."""

    def __init__(
        self, context: CollectorContext, listeners: Iterable[Callable[[Mapping[str, int]], None]] = ()
    ) -> None:
        """``listeners`` are called in the poll's thread."""
        self._context = context
        self._listeners = tuple(listeners)
        self._known: Mapping[str, int] = {}
        self._ids: dict[str, str] = {}
        self._known_ids: frozenset[str] = frozenset()
        self._strange: frozenset[str] = frozenset()
        self._missing = threading.Lock()
        self._nameless: Mapping[str, float] = {}
        self.poll = Poll("topics", self._ask, context)

    def unknown(self, topics: Iterable[str], ids: Iterable[str] = ()) -> bool:
        """Whether it is worth a look: any topic of that name or id was not there when topics were last read."""
        strange = frozenset(ids) - self._known_ids
        if strange:
            now, nameless = self._context.clock.monotonic(), self._nameless
            strange = frozenset(each for each in strange if nameless.get(each, now) <= now)
            with self._missing:
                self._strange |= strange
        return bool(strange) or any(topic not in self._known for topic in topics)

    def _ask(self) -> None:
        asked = self._context.clock.now_ms()
        _, counts = self._context.cluster.identify()
        self._known = counts
        strange = self._strange
        ids = {topic: topic_id for topic, topic_id in self._ids.items() if topic in counts}
        # A topic that was deleted and made anew under its name has another id: where one is missed, all are asked for.
        wanted = set(counts) if strange else counts.keys() - ids.keys()
        found = self._context.cluster.topic_ids(wanted)
        self._ids = ids | found
        self._known_ids = frozenset(self._ids.values())
        self._answered(strange, all_of_them=wanted <= found.keys())
        self._context.inbox.offer(TopicsSeen(asked, counts, self._ids))
        for listener in self._listeners:
            listener(counts)

    def _answered(self, strange: frozenset[str], *, all_of_them: bool) -> None:
        """``strange`` ids were asked for; what no topic has may be of one that brokers did not tell of this time."""
        if all_of_them:
            now = self._context.clock.monotonic()
            still = {each: until for each, until in self._nameless.items() if until > now}
            self._nameless = still | dict.fromkeys(strange - self._known_ids, now + NAMELESS_S)
        with self._missing:
            self._strange -= strange if all_of_them else self._known_ids
