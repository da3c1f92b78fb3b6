"""What an application subscribes to: topics, and patterns that begin with ``^``, as librdkafka has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from rebalance_agent.errors import InvalidInputError

__all__ = ["TOPICS_MAX", "SubscribeCall"]

TOPICS_MAX = 100_000
"""Entries of a subscription: more than a cluster has topics."""


class SubscribeCall:
    """One call of ``subscribe``."""

    def __init__(self, topics: Sequence[str]) -> None:
        """Read ``topics``.

        Raises:
            InvalidInputError: there are none, or too many, or one is empty, or a pattern is not one.
        """
        if isinstance(topics, str) or not 0 < len(topics) <= TOPICS_MAX:
            raise InvalidInputError("topics", f"must be a list of 1 to {TOPICS_MAX} topics or patterns")
        self._names = set()
        self._patterns = []
        for topic in topics:
            if not isinstance(topic, str) or not topic:
                raise InvalidInputError("topics", f"{topic!r} is no topic")
            if topic.startswith("^"):
                self._patterns.append(_pattern(topic))
            else:
                self._names.add(topic)

    @property
    def changes(self) -> bool:
        """Whether other topics may be meant later on."""
        return bool(self._patterns)

    def among(self, known: Callable[[], Iterable[str]]) -> tuple[str, ...]:
        """The topics that are meant now; ``known`` lists the cluster's, and is asked only if there are patterns."""
        if not self._patterns:
            return tuple(sorted(self._names))
        found = {topic for topic in known() if any(pattern.search(topic) for pattern in self._patterns)}
        return tuple(sorted(self._names | found))


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise InvalidInputError("topics", f"{text!r} is no pattern: {error}") from None
