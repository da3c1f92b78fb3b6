"""The topics that a strategy needs besides those subscribed to: looked up, and created where that was asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kafka.errors import NoError, TopicAlreadyExistsError, for_code

from rebalance_agent.clients.kafka_python.admin_thread import AdminThread
from rebalance_agent.errors import ClusterError

__all__ = ["CREATION_SECONDS", "InternalTopics"]

CREATION_SECONDS = 10.0
"""How long the group waits for topics to be made, once in its life."""


class InternalTopics:
    """A `TopicAdmin` with the consumer's own rights; replication and all else are the broker's defaults."""

    def __init__(self, aside: AdminThread) -> None:
        """Ask by ``aside``."""
        self._aside = aside

    def partitions_of(self, topics: Collection[str]) -> dict[str, int]:
        """Those of ``topics`` that are there -> how many partitions they have.

        Raises:
            ClusterError: the cluster does not say.
        """
        described = self._aside.ask(lambda admin: admin.describe_topics(list(topics)))
        return {topic["name"]: len(topic["partitions"]) for topic in described if topic["error_code"] == NoError.errno}

    def create_topics(self, topics: Mapping[str, int]) -> None:
        """Create ``topics`` (name -> partitions) and return when they are there; another leader may have been faster.

        Raises:
            ClusterError: one of them cannot be created, or is there with another partition count.
        """
        self._aside.ask(lambda admin: _create(admin, topics), CREATION_SECONDS)
        found = self.partitions_of(topics)
        for topic, count in topics.items():
            if found.get(topic) != count:
                raise ClusterError(f"internal topic {topic}: wanted {count} partitions, found {found.get(topic, 0)}")


def _create(admin: Any, topics: Mapping[str, int]) -> None:  # noqa: ANN401 - untyped
    created = admin.create_topics(
        {topic: {"num_partitions": count} for topic, count in topics.items()}, raise_errors=False
    )
    for topic in created["topics"]:
        error = for_code(topic["error_code"])
        if error not in (NoError, TopicAlreadyExistsError):
            raise ClusterError(f"internal topic {topic['name']}: {error.__name__}: {topic['error_message'] or ''}")
    admin.wait_for_topics(list(topics))
