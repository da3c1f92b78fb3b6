"""Intercepts the frames of one connection: rewrites addresses and API versions, and calls the groups' handlers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from rebalance_agent.gateway.client_software import read_software
from rebalance_agent.gateway.groups.group_interceptor import GroupInterceptor
from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection, OwnAnswer
from rebalance_agent.gateway.share_groups.share_frames import ShareFrames
from rebalance_agent.gateway.telemetry.telemetry_frames import TelemetryFrames
from rebalance_agent.gateway.transport.addresses import Nodes, localized, names_addresses
from rebalance_agent.gateway.transport.api_versions import API_VERSIONS, with_known_version, with_offered_versions
from rebalance_agent.gateway.transport.kafka_messages import Ask
from rebalance_agent.gateway.transport.request_head import RequestHead, client_id

__all__ = ["ConnectionInterceptor"]


@dataclass(frozen=True, slots=True)
class ConnectionInterceptor:
    """Decides which frames of one connection are read, and may change them.

    ``groups`` handles the frames of groups, ``nodes`` provides addresses for brokers, ``telemetry`` handles the metrics
    that clients push, and ``shares`` observes share groups.
    """

    nodes: Nodes
    groups: GroupInterceptor
    telemetry: TelemetryFrames
    shares: ShareFrames

    def reads_request(self, head: RequestHead) -> bool:
        """Whether to pass a request to `request`: ApiVersions, and those of groups, share groups or telemetry."""
        return (
            head.api_key == API_VERSIONS
            or self.groups.wants(head)
            or self.shares.wants(head)
            or self.telemetry.answers(head)
        )

    def observes(self, head: RequestHead) -> bool:
        """Whether a request is read but never changed, so that a large request may pass unread."""
        return self.shares.wants(head) or (self.groups.wants(head) and self.groups.observes(head))

    def reads_answer(self, head: RequestHead) -> bool:
        """Whether to pass the response to a request to `response`; to be called after `request`.

        True for responses with addresses or API versions, and for responses that ``groups`` reads.
        """
        return head.api_key == API_VERSIONS or names_addresses(head) or self.groups.wants_answer(head)

    def connected(self, connection: ClientConnection) -> None:
        """Store the ``connection``; to be called before any other method."""
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
        if self.shares.wants(head) and (fetched := self.shares.request(head, frame)):
            self.groups.share_fetched(client_id(frame), fetched)
        if not self.groups.wants(head):
            return frame
        before = self.groups.member
        result = await self.groups.request(head, frame, ask)
        if self.groups.member and self.groups.member is not before:  # not for each further Fetch and commit
            self.telemetry.joined(*self.groups.member)
        return result

    async def response(self, head: RequestHead, frame: bytes) -> bytes:
        """Return the frame to send to the client. There is no ``ask``: the answer would come only after this response.

        Raises DecodeError if ``frame`` cannot be read, RefusedError if the connection cannot continue.
        """
        if self.groups.wants_answer(head):
            frame = self.groups.response(head, frame)
        if head.api_key == API_VERSIONS:
            return with_offered_versions(head, frame, self.telemetry.offered)
        if not names_addresses(head):
            return frame
        return await localized(head, frame, self.nodes, partial(self.shares.response, head))

    async def client_ended(self) -> None:
        """Record that the client closed its connection. Return once the broker's connection is no longer needed."""
        await self.groups.client_ended()

    def closed(self) -> None:
        """Record that the connection was closed."""
        self.groups.closed()
        self.telemetry.closed()
