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
from rebalance_agent.gateway.groups.member_entries import JoinTerms, MemberEntry
from rebalance_agent.gateway.groups.offered_protocols import (
    CONSUMER,
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
"""Maximum number of groups per connection whose last member is kept: a consumer joins one group."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """Data for handling the response, which changes the entry if the coordinator accepted the request.

    ``former``: the entry's membership when the request arrived; ``membership``: that of the sender. They differ if the
    sender is a new process of a static member.
    """

    group: str
    instance_id: str | None
    entry: MemberEntry
    former: ClientMembership
    membership: ClientMembership
    terms: JoinTerms


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
        entry, membership = self._sender(message, client_id)
        own = own_protocols(message)
        terms = self._terms(message, entry, membership, own, client_id)
        keeps = own is not None and own.protocol is RebalanceProtocol.COOPERATIVE
        membership.record_join_request(own.subscription.owned_partitions if own and keeps else None, message.reason)
        sent = _Sent(message.group_id, message.group_instance_id, entry, entry.membership, membership, terms)
        return FrameResult(terms.offer is not None, sent)

    def member_of(self, message: Any) -> tuple[str, float] | None:  # noqa: ANN401
        """Return the group and the timeout of the client, if the client is a consumer."""
        if message.protocol_type != CONSUMER:
            return None
        return message.group_id, max(0, message.rebalance_timeout_ms) / 1000

    def response(self, message: Any, memory: _Sent) -> bool:  # noqa: ANN401
        """Record the generation and its assignor."""
        entry, membership, offered = memory.entry, memory.membership, memory.terms.offer
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
        chosen = offered is not None and message.protocol_name == offered.strategy.name
        if offered is not None:
            self._shared.count(FrameOutcome.CHOSEN if chosen else FrameOutcome.NOT_CHOSEN)
        if entry.membership in (memory.former, membership):  # else another process has taken over the static member
            if entry.membership is not membership:
                entry.membership.settle()  # when the former process stopped is unknown
                entry.membership = membership
            self._shared.entries.put(memory.group, message.member_id, memory.instance_id, entry)
            entry.terms, entry.chosen, entry.election = memory.terms, chosen, elected(message) if chosen else None
            entry.led = led_members(message, self._shared.clock.now_ms()) if self._shared.generations else None
        if chosen and offered is not None:
            restore_join(message, offered)
        return chosen

    def _sender(self, message: Any, client_id: str) -> tuple[MemberEntry, ClientMembership]:  # noqa: ANN401
        """Return the sender's entry and membership; another process of a static member has a new membership."""
        group, instance_id = message.group_id, message.group_instance_id
        if message.member_id or instance_id is not None:
            remembered = self._shared.entries.find(group, message.member_id, instance_id)
            if remembered is not None:
                same = bool(message.member_id)
                new = remembered.membership if same else self.new_membership(group, client_id, instance_id)
                return remembered, new
        recent = self._recent.get(group)
        if recent is not None and message.member_id in ("", recent.membership.member_id):
            return recent, recent.membership
        entry = MemberEntry(self.new_membership(group, client_id, instance_id))
        return entry, entry.membership

    def _terms(
        self,
        message: Any,  # noqa: ANN401
        entry: MemberEntry,
        membership: ClientMembership,
        own: OwnProtocol | None,
        client_id: str,
    ) -> JoinTerms:
        """Offer our strategy if a rule matches the group and the client; return the terms of this JoinGroup."""
        group, shared = message.group_id, self._shared
        session_seconds, rebalance_ms = message.session_timeout_ms / 1000, message.rebalance_timeout_ms
        rebalance_seconds = session_seconds if rebalance_ms < 0 else rebalance_ms / 1000
        own_terms = JoinTerms(None, entry.terms.participant, session_seconds, rebalance_seconds)
        rule = shared.rules.of(group)
        if rule is None:
            return own_terms
        if own is None or not own.common:
            self._foreign(message, client_id)
            return own_terms
        if problem := mismatch(rule.strategy, own.names):
            shared.count(FrameOutcome.MISFIT)
            shared.log_problem(logging.ERROR, group, client_id, f"it keeps its own assignor: {problem}")
            return own_terms
        participant = self._participant(entry, membership, rule, own)
        metadata = participant.subscription(rule.strategy, own.subscription.topics)
        offered = offer(message, own, rule.strategy, metadata)
        shared.count(FrameOutcome.OFFERED)
        return JoinTerms(offered, participant, session_seconds, rebalance_seconds)

    def _participant(
        self, entry: MemberEntry, membership: ClientMembership, rule: Rule, own: OwnProtocol
    ) -> Participant:
        """Return the strategy's state of the member; the state that applies now is not changed.

        A cooperative client sends its owned partitions. An eager client's owned partitions are taken from its last
        assignment. Many clients send their rack only in Fetch, so the gateway's rack replaces a missing one.
        """
        subscription, before = own.subscription, entry.terms.participant
        rack, keeps = subscription.rack_id or self._shared.rack or None, own.protocol is RebalanceProtocol.COOPERATIVE
        if before is not None and before.rack == rack and not keeps:
            return before
        participant = Participant((rule.strategy,), rule.config, group=membership.group, rack=rack)
        known = before or membership
        owned, generation = (subscription.owned_partitions, subscription.generation_id) if keeps else (known.owned, -1)
        participant.received(owned, generation if generation >= 0 else known.generation)
        return participant

    def _foreign(self, message: Any, client_id: str) -> FrameResult:  # noqa: ANN401
        rule = self._shared.rules.of(message.group_id)
        if rule is not None:
            names = ", ".join(protocol.name for protocol in message.protocols or ())[:200]
            self._shared.count(FrameOutcome.FOREIGN)
            text = f"{rule.strategy.name} is only for consumers with Kafka's own assignors, not for {names!r}"
            self._shared.log_problem(logging.WARNING, message.group_id, client_id, text)
        return FrameResult()
