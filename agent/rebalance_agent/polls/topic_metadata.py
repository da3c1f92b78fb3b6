"""Polls partition counts and ids of the cluster's topics, for the tracker and for readers of topics that may grow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.repeated_poll import Poll
from rebalance_agent.tracking.observations import TopicsSeen

__all__ = ["NAMELESS_S", "TopicsPoll"]


NAMELESS_S = 60.0
"""Seconds for which an id counts as unknown to the cluster: records continue to name deleted topics."""


class TopicsPoll:
    """Puts `TopicsSeen`, and calls ``listeners`` with the partition counts."""

    def __init__(
        self, context: CollectorContext, listeners: Iterable[Callable[[Mapping[str, int]], None]] = ()
    ) -> None:
        """``listeners`` are called in the poll's thread, with topic -> partitions."""
        self._context = context
        self._listeners = tuple(listeners)
        self._known: Mapping[str, int] = {}
        self._ids: dict[str, str] = {}
        self._known_ids: frozenset[str] = frozenset()
        self._unknown_ids: frozenset[str] = frozenset()
        self._missing = threading.Lock()
        self._nameless_until: Mapping[str, float] = {}
        self.poll = Poll("topics", self._ask, context)

    def unknown(self, topics: Iterable[str], ids: Iterable[str] = ()) -> bool:
        """Return whether topics should be read again: a name or an id was not found at the last read."""
        unknown_ids = frozenset(ids) - self._known_ids
        if unknown_ids:
            now, nameless_until = self._context.clock.monotonic(), self._nameless_until
            unknown_ids = frozenset(topic_id for topic_id in unknown_ids if nameless_until.get(topic_id, now) <= now)
            with self._missing:
                self._unknown_ids |= unknown_ids
        return bool(unknown_ids) or any(topic not in self._known for topic in topics)

    def _ask(self) -> None:
        asked = self._context.clock.now_ms()
        _, counts = self._context.cluster.identify()
        self._known = counts
        unknown_ids = self._unknown_ids
        ids = {topic: topic_id for topic, topic_id in self._ids.items() if topic in counts}
        # A topic that was recreated with the same name has another id, so all topics are requested for an unknown id.
        names = set(counts) if unknown_ids else counts.keys() - ids.keys()
        new_ids = self._context.cluster.topic_ids(names)
        self._ids = ids | new_ids
        self._known_ids = frozenset(self._ids.values())
        self._answered(unknown_ids, all_of_them=names <= new_ids.keys())
        self._context.inbox.offer(TopicsSeen(asked, counts, self._ids))
        for listener in self._listeners:
            listener(counts)

    def _answered(self, unknown_ids: frozenset[str], *, all_of_them: bool) -> None:
        """Record the ``unknown_ids`` that no topic has, unless some topics' ids are missing (not ``all_of_them``)."""
        if all_of_them:
            now = self._context.clock.monotonic()
            still = {topic_id: until for topic_id, until in self._nameless_until.items() if until > now}
            self._nameless_until = still | dict.fromkeys(unknown_ids - self._known_ids, now + NAMELESS_S)
        with self._missing:
            self._unknown_ids -= unknown_ids if all_of_them else self._known_ids
