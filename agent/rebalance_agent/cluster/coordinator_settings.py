"""The settings by which a group's coordinator decides about the consumer protocol (KIP-848)."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import NamedTuple

from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]

from rebalance_agent.cluster.admin_client import ANSWER_TIMEOUT_S, Cluster
from rebalance_agent.errors import AccessDeniedError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC, offsets_partition
from rebalance_agent.model.group import GroupType

__all__ = ["CoordinatorCluster", "CoordinatorSettings"]


class CoordinatorSettings(NamedTuple):
    """Settings in effect by name, empty where a right is missing.

    ``broker``: the id of the group's coordinator, which has the settings ``of_broker``.
    ``consumer_groups``: whether the cluster has a group of the consumer protocol.
    """

    broker: int
    of_broker: Mapping[str, str]
    of_group: Mapping[str, str]
    consumer_groups: bool


class CoordinatorCluster(Cluster):
    """A cluster whose settings of groups are read."""

    def settings_of_group(self, group: str) -> CoordinatorSettings:
        """The settings of ``group`` and of its coordinator.

        Raises:
            ClusterError: the cluster does not answer.
        """
        broker = self._coordinator(group)
        # A group that has never used the protocol does not have one of it either.
        types = {listed.group_type for listed in self.list_groups().groups}
        return CoordinatorSettings(
            broker,
            self._settings("broker", str(broker)),
            self._settings("group", group),
            GroupType.CONSUMER in types,
        )

    def _coordinator(self, group: str) -> int:
        """The leader of the partition with the group's records.

        librdkafka 2.16 ends the process if it is to describe a group with an assignment that does not decode, so the
        group is not described.
        """
        with self._doing("reading metadata"):
            topic = self._admin.list_topics(OFFSETS_TOPIC, timeout=ANSWER_TIMEOUT_S).topics[OFFSETS_TOPIC]
        if not topic.partitions:
            return min(self.brokers())
        return int(topic.partitions[offsets_partition(group, len(topic.partitions))].leader)

    def _settings(self, kind: str, name: str) -> dict[str, str]:
        """Setting -> its value, for settings with one; empty if this principal may not read them."""
        resource = ConfigResource(kind, name)
        future = self._ask(self._admin.describe_configs, [resource])[resource]
        with contextlib.suppress(AccessDeniedError), self._doing(f"reading the settings of {kind} {name}"):
            return {key: str(entry.value) for key, entry in future.result().items() if entry.value is not None}
        return {}
