"""Methods of confluent-kafka's consumer that concern its group membership."""

from __future__ import annotations

import confluent_kafka
from confluent_kafka import TopicPartition

from rebalance_agent.clients.confluent_assignors.config.client_settings import ClientSettings
from rebalance_agent.clients.confluent_assignors.group_metadata import group_metadata
from rebalance_agent.clients.confluent_assignors.member.membership_thread import MembershipThread
from rebalance_agent.clients.confluent_assignors.offsets import listed
from rebalance_agent.clients.confluent_assignors.rebalancing import Rebalancing

__all__ = ["CLOSED", "GroupMethods"]

CLOSED = "Consumer closed"
"""Text of the error, as in confluent-kafka."""


class GroupMethods:
    """The methods of ``confluent_kafka.Consumer`` about its membership, and `standbys`."""

    _data: confluent_kafka.Consumer
    _settings: ClientSettings
    _membership: MembershipThread
    _rebalancing: Rebalancing
    _closed: bool

    def assign(self, partitions: list[TopicPartition]) -> None:
        """Like confluent-kafka's method; allowed only in ``on_assign``."""
        self._rebalancing.assign(partitions)

    def unassign(self) -> None:
        """Like confluent-kafka's method; allowed only in ``on_revoke`` and ``on_lost``."""
        self._rebalancing.unassign()

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Like confluent-kafka's method; allowed only in ``on_assign``."""
        self._rebalancing.incremental_assign(partitions)

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        """Like confluent-kafka's method; allowed only in ``on_revoke`` and ``on_lost``."""
        self._rebalancing.incremental_unassign(partitions)

    def standbys(self) -> list[TopicPartition]:
        """Return the partitions that this consumer has to keep a copy of, by the last assignment."""
        self._check_open()
        return listed(self._membership.standbys)

    def enforce_rebalance(self) -> None:
        """Join again soon, for example when copies that units wait for are complete (Java's ``enforceRebalance``)."""
        self._check_open()
        self._membership.rejoin()

    def memberid(self) -> str | None:
        """Return the member id from the group's coordinator; None before the first join."""
        self._check_open()
        _generation, member_id = self._membership.identity
        return member_id or None

    def consumer_group_metadata(self) -> object:
        """Like confluent-kafka's, for ``send_offsets_to_transaction``: the member's generation and ids."""
        self._check_open()
        settings = self._settings
        return group_metadata(self._data, settings.group, *self._membership.identity, settings.instance_id)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(CLOSED)
