"""Rewrites JoinGroup: adds our strategy to the request, and names the client's own assignor in the response."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from kafka.protocol.consumer.group import JoinGroupRequest, JoinGroupResponse

from rebalance_agent.clients.participant import Participant
from rebalance_agent.gateway.group_rules import Rule
from rebalance_agent.gateway.groups.client_answers import elected, restore_join
from rebalance_agent.gateway.groups.client_membership import ClientMembership
from rebalance_agent.gateway.groups.frame_handler import LOST, FrameHandler, FrameResult
from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome, GatewayGroups
from rebalance_agent.gateway.groups.member_entries import MemberEntry
from rebalance_agent.gateway.groups.offered_protocols import (
    CONSUMER,
    Offer,
    OwnProtocol,
    mismatch,
    offer,
    own_protocols,
)
from rebalance_agent.gateway.transport.kafka_messages import Ask
from rebalance_agent.groupprotocol.wire.error_codes import MEMBER_ID_REQUIRED, NO_ERROR
from rebalance_agent.instrumentation.led_members import led_members
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["JoinGroupHandler"]

RECENT_MAX = 32
"""Maximum groups per connection whose last member is remembered: a consumer joins one group."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """Data for handling the response: by then, another process may have taken over the static member's entry."""

    group: str
    instance_id: str | None
    entry: MemberEntry
    membership: ClientMembership
    offer: Offer | None


class JoinGroupHandler(FrameHandler):
    """Handles the JoinGroups of one connection.

    A client that lost its membership rejoins without a member id. The handler then recognises it by its connection.
    """

    REQUEST = JoinGroupRequest
    RESPONSE = JoinGroupResponse
    STRICT = True

    def __init__(self, shared: GatewayGroups) -> None:
        """Create the handler of one connection."""
        super().__init__(shared)
        self._recent: dict[str, MemberEntry] = {}

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401, ARG002
        """Offer our strategy if a rule matches the group."""
        if message.protocol_type != CONSUMER:
            return self._foreign(message, client_id)
        entry = self._entry(message, client_id)
        own = own_protocols(message)
        entry.offer = self._offer(message, entry, own, client_id)
        entry.session_seconds = message.session_timeout_ms / 1000
        rebalance_ms = message.rebalance_timeout_ms
        entry.rebalance_seconds = entry.session_seconds if rebalance_ms < 0 else rebalance_ms / 1000
        keeps = own is not None and own.protocol is RebalanceProtocol.COOPERATIVE
        entry.membership.record_join_request(
            own.subscription.owned_partitions if own and keeps else None, message.reason
        )
        sent = _Sent(message.group_id, message.group_instance_id, entry, entry.membership, entry.offer)
        return FrameResult(entry.offer is not None, sent)

    def member_of(self, message: Any) -> tuple[str, float] | None:  # noqa: ANN401
        """Return the group and the timeout of the client, if the client is a consumer."""
        if message.protocol_type != CONSUMER:
            return None
        return message.group_id, max(0, message.rebalance_timeout_ms) / 1000

    def response(self, message: Any, memory: _Sent) -> bool:  # noqa: ANN401
        """Record the generation and its assignor."""
        entry, membership = memory.entry, memory.membership
        self._recent[memory.group] = entry
        if len(self._recent) > RECENT_MAX:
            del self._recent[next(iter(self._recent))]
        if message.error_code != NO_ERROR:
            if message.error_code == MEMBER_ID_REQUIRED:
                membership.member_id = message.member_id  # the client tries again with this id
            if message.error_code in LOST:
                membership.record_loss(f"{LOST[message.error_code]} in the response to JoinGroup")
            return False
        membership.record_join(message.member_id, message.generation_id)
        chosen = memory.offer is not None and message.protocol_name == memory.offer.strategy.name
        if memory.offer is not None:
            self._shared.count(FrameOutcome.CHOSEN if chosen else FrameOutcome.NOT_CHOSEN)
        if entry.membership is membership:
            self._shared.entries.put(memory.group, message.member_id, memory.instance_id, entry)
            entry.chosen, entry.election = chosen, elected(message) if chosen else None
            entry.led = led_members(message, self._shared.clock.now_ms()) if self._shared.generations else None
        if chosen and memory.offer is not None:
            restore_join(message, memory.offer)
        return chosen

    def _entry(self, message: Any, client_id: str) -> MemberEntry:  # noqa: ANN401
        group, instance_id = message.group_id, message.group_instance_id
        if message.member_id or instance_id is not None:
            remembered = self._shared.entries.find(group, message.member_id, instance_id)
            if remembered is not None:
                if not message.member_id:
                    # Another process is now the static member; when the former process stopped is unknown.
                    remembered.membership.settle()
                    remembered.membership = self._shared.new_membership(group, client_id, instance_id)
                return remembered
        recent = self._recent.get(group)
        if recent is not None and message.member_id in ("", recent.membership.member_id):
            return recent
        return MemberEntry(self._shared.new_membership(group, client_id, instance_id))

    def _offer(self, message: Any, entry: MemberEntry, own: OwnProtocol | None, client_id: str) -> Offer | None:  # noqa: ANN401
        group, shared = message.group_id, self._shared
        rule = shared.rules.of(group)
        if rule is None:
            return None
        if own is None or not own.common:
            self._foreign(message, client_id)
            return None
        if problem := mismatch(rule.strategy, own.names):
            shared.count(FrameOutcome.MISFIT)
            shared.log_problem(logging.ERROR, group, client_id, f"it keeps its own assignor: {problem}")
            return None
        offered = offer(message, own, rule.strategy, self._metadata(entry, rule, own))
        shared.count(FrameOutcome.OFFERED)
        return offered

    def _metadata(self, entry: MemberEntry, rule: Rule, own: OwnProtocol) -> bytes:
        """Return the member's subscription for our strategy: the client's own topics and owned partitions.

        A cooperative client sends its owned partitions. An eager client's owned partitions are taken from its last
        assignment. Many clients send their rack only in Fetch, so the gateway's rack replaces a missing one.
        """
        subscription, membership = own.subscription, entry.membership
        rack = subscription.rack_id or self._shared.rack or None
        participant = entry.participant
        if participant is None or entry.rack != rack:
            before, entry.rack = participant, rack
            participant = entry.participant = Participant(
                (rule.strategy,), rule.config, group=membership.group, rack=entry.rack
            )
            if before is None:
                participant.received(membership.owned, membership.generation)
            else:
                participant.received(before.owned, before.generation)
        if own.protocol is RebalanceProtocol.COOPERATIVE:
            generation = subscription.generation_id if subscription.generation_id >= 0 else participant.generation
            participant.received(subscription.owned_partitions, generation)
        return participant.subscription(rule.strategy, subscription.topics)

    def _foreign(self, message: Any, client_id: str) -> FrameResult:  # noqa: ANN401
        rule = self._shared.rules.of(message.group_id)
        if rule is not None:
            names = ", ".join(protocol.name for protocol in message.protocols or ())[:200]
            self._shared.count(FrameOutcome.FOREIGN)
            text = f"{rule.strategy.name} is only for consumers with Kafka's own assignors, not for {names!r}"
            self._shared.log_problem(logging.WARNING, message.group_id, client_id, text)
        return FrameResult()
