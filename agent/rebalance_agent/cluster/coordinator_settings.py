"""The settings by which a group's coordinator decides about the consumer protocol (KIP-848)."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import NamedTuple

from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.errors import AccessDeniedError
from rebalance_agent.model.group import GroupType

__all__ = ["CoordinatorCluster", "CoordinatorSettings"]


class CoordinatorSettings(NamedTuple):
    """Settings in effect by name, empty where a right is missing.

    ``broker``: the id of the broker with the settings ``of_broker``: the group's coordinator if that is known.
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
        brokers = sorted(self.brokers())
        coordinators = [answer.coordinator for answer in self._describe([group]).values() if answer is not None]
        broker = coordinators[0].id if coordinators and coordinators[0] else brokers[0]
        # A group that has never used the protocol does not have one of it either.
        types = {listed.group_type for listed in self.list_groups().groups}
        return CoordinatorSettings(
            broker,
            self._settings("broker", str(broker)),
            self._settings("group", group),
            GroupType.CONSUMER in types,
        )

    def _settings(self, kind: str, name: str) -> dict[str, str]:
        """Setting -> its value, for settings with one; empty if this principal may not read them."""
        resource = ConfigResource(kind, name)
        future = self._ask(self._admin.describe_configs, [resource])[resource]
        with contextlib.suppress(AccessDeniedError), self._doing(f"reading the settings of {kind} {name}"):
            return {key: str(entry.value) for key, entry in future.result().items() if entry.value is not None}
        return {}
