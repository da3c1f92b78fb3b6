"""Topics and patterns of a subscription. Patterns begin with ``^``, as in librdkafka."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from rebalance_agent.errors import InvalidInputError

__all__ = ["TOPICS_MAX", "SubscribeCall"]

TOPICS_MAX = 100_000
"""Maximum number of entries: more than the topics of any cluster."""


class SubscribeCall:
    """The topics and patterns of one call of ``subscribe``."""

    def __init__(self, topics: Sequence[str]) -> None:
        """Parse ``topics``.

        Raises:
            InvalidInputError: the list is empty or too long, a topic is empty, or a pattern is invalid.
        """
        if isinstance(topics, str) or not 0 < len(topics) <= TOPICS_MAX:
            raise InvalidInputError("topics", f"must be a list of 1 to {TOPICS_MAX} topics or patterns")
        self._names = set()
        self._patterns = []
        for topic in topics:
            if not isinstance(topic, str) or not topic:
                raise InvalidInputError("topics", f"{topic!r} is not a topic")
            if topic.startswith("^"):
                self._patterns.append(_pattern(topic))
            else:
                self._names.add(topic)

    @property
    def has_patterns(self) -> bool:
        """Whether the subscription has patterns, so that its topics may change."""
        return bool(self._patterns)

    def resolve(self, list_topics: Callable[[], Iterable[str]]) -> tuple[str, ...]:
        """Return the topics that match now, sorted. ``list_topics``: lists the cluster's; only called for patterns."""
        if not self._patterns:
            return tuple(sorted(self._names))
        matches = {topic for topic in list_topics() if any(pattern.search(topic) for pattern in self._patterns)}
        return tuple(sorted(self._names | matches))


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise InvalidInputError("topics", f"{text!r} is not a pattern: {error}") from None
