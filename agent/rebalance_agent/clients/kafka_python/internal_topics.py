"""Looks up, and on request creates, the internal topics of a strategy, which members do not subscribe to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kafka.errors import NoError, TopicAlreadyExistsError, for_code

from rebalance_agent.clients.kafka_python.admin_thread import AdminThread
from rebalance_agent.errors import ClusterError

__all__ = ["CREATION_SECONDS", "InternalTopics"]

CREATION_SECONDS = 10.0
"""Longest time (seconds) for which the group waits until topics are created, once in its life."""


class InternalTopics:
    """A `TopicAdmin` with the consumer's own permissions.

    New topics get the broker's defaults, including replication.
    """

    def __init__(self, admin_thread: AdminThread) -> None:
        """Send requests with ``admin_thread``."""
        self._admin_thread = admin_thread

    def partitions_of(self, topics: Collection[str]) -> dict[str, int]:
        """Return topic -> partition count, for those of ``topics`` that exist.

        Raises:
            ClusterError: the request failed or timed out.
        """
        described = self._admin_thread.ask(lambda admin: admin.describe_topics(list(topics)))
        return {topic["name"]: len(topic["partitions"]) for topic in described if topic["error_code"] == NoError.errno}

    def create_topics(self, topics: Mapping[str, int]) -> None:
        """Create ``topics`` (name -> partitions) and wait until they exist. Another leader may have created them.

        Raises:
            ClusterError: a topic cannot be created, or exists with another partition count.
        """
        self._admin_thread.ask(lambda admin: _create(admin, topics), CREATION_SECONDS)
        counts = self.partitions_of(topics)
        for topic, count in topics.items():
            if counts.get(topic) != count:
                raise ClusterError(f"internal topic {topic} needs {count} partitions, but has {counts.get(topic, 0)}")


def _create(admin: Any, topics: Mapping[str, int]) -> None:  # noqa: ANN401 - untyped
    created = admin.create_topics(
        {topic: {"num_partitions": count} for topic, count in topics.items()}, raise_errors=False
    )
    for topic in created["topics"]:
        error = for_code(topic["error_code"])
        if error not in (NoError, TopicAlreadyExistsError):
            raise ClusterError(f"internal topic {topic['name']}: {error.__name__}: {topic['error_message'] or ''}")
    admin.wait_for_topics(list(topics))
