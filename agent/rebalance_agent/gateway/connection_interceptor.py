"""Intercepts the frames of one connection: rewrites addresses and API versions, and passes groups' frames on."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.gateway.client_software import read_software
from rebalance_agent.gateway.groups.group_interceptor import GroupInterceptor
from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection, OwnAnswer
from rebalance_agent.gateway.telemetry.telemetry_frames import TelemetryFrames
from rebalance_agent.gateway.transport.addresses import Nodes, localized, names_addresses
from rebalance_agent.gateway.transport.api_versions import API_VERSIONS, with_known_version, with_offered_versions
from rebalance_agent.gateway.transport.kafka_messages import Ask
from rebalance_agent.gateway.transport.request_head import RequestHead, client_id

__all__ = ["ConnectionInterceptor"]


@dataclass(frozen=True, slots=True)
class ConnectionInterceptor:
    """Decides which frames of one connection are read, and may change them.

    It uses ``groups`` for frames of groups, ``nodes`` for the addresses of brokers, and ``telemetry`` for what clients
    push to the gateway.
    """

    nodes: Nodes
    groups: GroupInterceptor
    telemetry: TelemetryFrames

    def reads_request(self, head: RequestHead) -> bool:
        """Whether to pass a request to `request`: ApiVersions, and requests of groups or telemetry that are handled."""
        return head.api_key == API_VERSIONS or self.groups.wants(head) or self.telemetry.answers(head)

    def observes(self, head: RequestHead) -> bool:
        """Whether a request is read but never changed, so that a large one may pass unread."""
        return self.groups.wants(head) and self.groups.observes(head)

    def reads_answer(self, head: RequestHead) -> bool:
        """Whether to pass the response of a request to `response`; called after `request`.

        These are responses with addresses or API versions, and those that ``groups`` wants.
        """
        return head.api_key == API_VERSIONS or names_addresses(head) or self.groups.wants_answer(head)

    def connected(self, connection: ClientConnection) -> None:
        """Take the ``connection``; called before any other method."""
        self.groups.connected(connection)
        self.telemetry.connected(connection.host)

    async def request(self, head: RequestHead, frame: bytes, ask: Ask) -> bytes | OwnAnswer:
        """Return the frame for the broker, or an answer for the client. Raises DecodeError for unreadable frames."""
        if head.api_key == API_VERSIONS:
            software = read_software(head, frame)
            self.groups.greeted(client_id(frame), software)
            self.telemetry.greeted(software)
            frame = with_known_version(head, frame)
        if self.telemetry.answers(head):
            return OwnAnswer(self.telemetry.answer(head, frame))
        if not self.groups.wants(head):
            return frame
        before = self.groups.member
        result = await self.groups.request(head, frame, ask)
        if self.groups.member and self.groups.member is not before:  # not again for each Fetch and commit
            self.telemetry.joined(*self.groups.member)
        return result

    async def response(self, head: RequestHead, frame: bytes) -> bytes:
        """Return the frame to send to the client. There is no ``ask``: its response would come only after this one.

        Raises DecodeError if ``frame`` cannot be read, RefusedError if the connection cannot continue.
        """
        if self.groups.wants_answer(head):
            frame = self.groups.response(head, frame)
        if head.api_key == API_VERSIONS:
            return with_offered_versions(head, frame, self.telemetry.offered)
        return await localized(head, frame, self.nodes) if names_addresses(head) else frame

    async def client_ended(self) -> None:
        """Record that the client closed its connection. Return once the broker's connection is no longer needed."""
        await self.groups.client_ended()

    def closed(self) -> None:
        """Record that the connection was closed."""
        self.groups.closed()
        self.telemetry.closed()
