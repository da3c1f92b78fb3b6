"""Intercepts the frames of one connection: rewrites addresses and API versions, and passes groups' frames on."""

from __future__ import annotations

from typing import Protocol

from rebalance_agent.gateway.transport.addresses import Nodes, localized, names_addresses
from rebalance_agent.gateway.transport.api_versions import API_VERSIONS, with_known_version, with_offered_versions
from rebalance_agent.gateway.transport.kafka_messages import Ask
from rebalance_agent.gateway.transport.request_head import RequestHead

__all__ = ["ConnectionInterceptor", "GroupPart"]


class GroupPart(Protocol):
    """The part that handles the frames of groups; see `rebalance_agent.gateway.groups`."""

    def wants(self, head: RequestHead) -> bool:
        """Whether this request is to be read."""
        ...

    def observes(self, head: RequestHead) -> bool:
        """Whether this request, which is to be read, is never changed."""
        ...

    def wants_answer(self, head: RequestHead) -> bool:
        """Whether the response to this request, which was read, is to be read, too."""
        ...

    async def request(self, head: RequestHead, frame: bytes, ask: Ask) -> bytes:
        """The frame to send to the broker instead."""
        ...

    def response(self, head: RequestHead, frame: bytes) -> bytes:
        """The frame to send to the client instead."""
        ...

    def closed(self) -> None:
        """The connection was closed."""
        ...


class ConnectionInterceptor:
    """The `Interceptor` of one connection (see `rebalance_agent.gateway.transport.connection_relay`)."""

    def __init__(self, nodes: Nodes, groups: GroupPart) -> None:
        """Use ``groups`` for frames of groups, and ``nodes`` for the addresses of brokers."""
        self._nodes, self._groups = nodes, groups

    def reads_request(self, head: RequestHead) -> bool:
        """ApiVersions requests, and those that the groups' part wants."""
        return head.api_key == API_VERSIONS or self._groups.wants(head)

    def observes(self, head: RequestHead) -> bool:
        """See `Interceptor`."""
        return head.api_key != API_VERSIONS and self._groups.observes(head)

    def reads_answer(self, head: RequestHead) -> bool:
        """Responses with addresses or API versions, and those that the groups' part wants."""
        return head.api_key == API_VERSIONS or names_addresses(head) or self._groups.wants_answer(head)

    async def request(self, head: RequestHead, frame: bytes, ask: Ask) -> bytes:
        """See `Interceptor`."""
        if head.api_key == API_VERSIONS:
            frame = with_known_version(head, frame)
        return await self._groups.request(head, frame, ask) if self._groups.wants(head) else frame

    async def response(self, head: RequestHead, frame: bytes) -> bytes:
        """See `Interceptor`."""
        if self._groups.wants_answer(head):
            frame = self._groups.response(head, frame)
        if head.api_key == API_VERSIONS:
            return with_offered_versions(head, frame)
        return await localized(head, frame, self._nodes) if names_addresses(head) else frame

    def closed(self) -> None:
        """See `Interceptor`."""
        self._groups.closed()
