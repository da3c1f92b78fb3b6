"""Reads ShareGroupHeartbeat (KIP-932), in which partitions have topic ids."""

from __future__ import annotations

from typing import Any

from rebalance_agent.gateway.groups.client_membership import FETCH_SECONDS_MIN, ClientMembership
from rebalance_agent.gateway.groups.frame_handler import FrameResult
from rebalance_agent.gateway.groups.heartbeats.consumer_heartbeats import ConsumerHeartbeatHandler
from rebalance_agent.gateway.groups.heartbeats.heartbeat_handler import Keyed
from rebalance_agent.gateway.transport.kafka_messages import Ask
from rebalance_agent.groupprotocol.requests.share_group_heartbeat import SHARE_HEARTBEAT
from rebalance_agent.model.partitions import TopicPartitions

__all__ = ["ShareHeartbeatHandler"]


class ShareHeartbeatHandler(ConsumerHeartbeatHandler):
    """Handles the heartbeats of share groups: a member gives up and takes partitions as soon as it gets the response.

    Several members may have the same partition, so no member waits until another one has given it up.
    """

    API = SHARE_HEARTBEAT

    def held(self, group: str, message: Any) -> Keyed | None:  # noqa: ANN401, ARG002
        """Return None: requests do not contain the member's partitions."""
        return None

    def assign(self, membership: ClientMembership, partitions: TopicPartitions) -> None:
        """See the base class."""
        membership.record_shared(partitions)

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401
        """See the base class. A heartbeat some seconds after an assignment ends the wait for the first ShareFetch."""
        if entry := self._shared.entries.find(message["group_id"], message["member_id"], None):
            entry.membership.settle_late(FETCH_SECONDS_MIN)
            self._shared.expire_fetch_waits()
        return await super().request(message, client_id, ask)
