"""What is done on one connection: our own addresses and versions, and whatever the groups' part wants to see."""

from __future__ import annotations

from typing import Protocol

from rebalance_agent.gateway.transport.addresses import Nodes, localized, names_addresses
from rebalance_agent.gateway.transport.api_versions import API_VERSIONS, asked_as_known, offered
from rebalance_agent.gateway.transport.kafka_messages import Ask
from rebalance_agent.gateway.transport.request_head import RequestHead

__all__ = ["ConnectionInterceptor", "GroupPart"]


class GroupPart(Protocol):
    """See `rebalance_agent.gateway.groups`."""

    def wants(self, head: RequestHead) -> bool:
        """Whether this request is to be shown."""
        ...

    def observes(self, head: RequestHead) -> bool:
        """Whether this request, which is to be shown, is never changed."""
        ...

    def wants_answer(self, head: RequestHead) -> bool:
        """Whether the answer to this request, which was shown, is to be shown, too."""
        ...

    async def request(self, head: RequestHead, frame: bytes, ask: Ask) -> bytes:
        """The frame to send to the broker instead."""
        ...

    def response(self, head: RequestHead, frame: bytes) -> bytes:
        """The frame to send to the client instead."""
        ...

    def closed(self) -> None:
        """The connection is gone."""
        ...


class ConnectionInterceptor:
    """See `rebalance_agent.gateway.transport.connection_relay.Interceptor`."""

    def __init__(self, nodes: Nodes, groups: GroupPart) -> None:
        """One for each connection."""
        self._nodes, self._groups = nodes, groups

    def reads_request(self, head: RequestHead) -> bool:
        """The first question of a client, and what the groups' part wants."""
        return head.api_key == API_VERSIONS or self._groups.wants(head)

    def observes(self, head: RequestHead) -> bool:
        """See `Talk`."""
        return head.api_key != API_VERSIONS and self._groups.observes(head)

    def reads_answer(self, head: RequestHead) -> bool:
        """Where addresses or versions may stand, and what the groups' part wants."""
        return head.api_key == API_VERSIONS or names_addresses(head) or self._groups.wants_answer(head)

    async def request(self, head: RequestHead, frame: bytes, ask: Ask) -> bytes:
        """See `Talk`."""
        if head.api_key == API_VERSIONS:
            frame = asked_as_known(head, frame)
        return await self._groups.request(head, frame, ask) if self._groups.wants(head) else frame

    async def response(self, head: RequestHead, frame: bytes) -> bytes:
        """See `Talk`."""
        if self._groups.wants_answer(head):
            frame = self._groups.response(head, frame)
        if head.api_key == API_VERSIONS:
            return offered(head, frame)
        return await localized(head, frame, self._nodes) if names_addresses(head) else frame

    def closed(self) -> None:
        """See `Talk`."""
        self._groups.closed()
