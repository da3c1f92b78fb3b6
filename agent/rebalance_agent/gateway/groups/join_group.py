"""JoinGroup: our strategy put before the client's assignors, and the answer told in the client's own words."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from kafka.protocol.consumer.group import JoinGroupRequest, JoinGroupResponse

from rebalance_agent.clients.participant import Participant
from rebalance_agent.gateway.group_rules import Rule
from rebalance_agent.gateway.groups.client_answers import elected, tell_join
from rebalance_agent.gateway.groups.client_membership import ClientMembership
from rebalance_agent.gateway.groups.frame_handler import LOST, NO_ERROR, FrameHandler, FrameResult
from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome, GatewayGroups
from rebalance_agent.gateway.groups.member_entries import MemberEntry
from rebalance_agent.gateway.groups.offered_protocols import CONSUMER, Offer, OwnProtocol, offer, own_protocols, serves
from rebalance_agent.gateway.transport.kafka_messages import Ask
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["JoinGroupHandler"]

MEMBER_ID_REQUIRED = 79

RECENT_MAX = 32
"""Groups of one connection whose last member is remembered: a consumer is in one."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """What the answer is held against: by then another process may have taken the static member's seat."""

    group: str
    instance_id: str | None
    seat: MemberEntry
    presence: ClientMembership
    offer: Offer | None


class JoinGroupHandler(FrameHandler):
    """The JoinGroups of one connection.

    A client that falls out of its group begins anew without a member id; on this connection it is known to be the same.
    """

    REQUEST = JoinGroupRequest
    RESPONSE = JoinGroupResponse
    STRICT = True

    def __init__(self, shared: GatewayGroups) -> None:
        """A connection's first."""
        self._shared = shared
        self._recent: dict[str, MemberEntry] = {}

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401, ARG002
        """Offer our strategy where a rule says so."""
        if message.protocol_type != CONSUMER:
            return self._foreign(message, client_id)
        seat = self._seat(message, client_id)
        own = own_protocols(message)
        seat.offer = self._offer(message, seat, own, client_id)
        seat.session_seconds = message.session_timeout_ms / 1000
        rebalance_ms = message.rebalance_timeout_ms
        seat.rebalance_seconds = seat.session_seconds if rebalance_ms < 0 else rebalance_ms / 1000
        keeps = own is not None and own.protocol is RebalanceProtocol.COOPERATIVE
        seat.presence.joining(own.subscription.owned_partitions if own and keeps else None, message.reason)
        sent = _Sent(message.group_id, message.group_instance_id, seat, seat.presence, seat.offer)
        return FrameResult(seat.offer is not None, sent)

    def response(self, message: Any, memory: _Sent) -> bool:  # noqa: ANN401
        """Note the generation, and what it runs by."""
        seat, presence = memory.seat, memory.presence
        self._recent[memory.group] = seat
        if len(self._recent) > RECENT_MAX:
            del self._recent[next(iter(self._recent))]
        if message.error_code != NO_ERROR:
            if message.error_code == MEMBER_ID_REQUIRED:
                presence.member_id = message.member_id  # under which it tries again
            if message.error_code in LOST:
                presence.lost(f"{LOST[message.error_code]} in the answer to JoinGroup")
            return False
        presence.joined(message.member_id, message.generation_id)
        chosen = memory.offer is not None and message.protocol_name == memory.offer.strategy.name
        if memory.offer is not None:
            self._shared.count(FrameOutcome.CHOSEN if chosen else FrameOutcome.NOT_CHOSEN)
        if seat.presence is presence:
            self._shared.seats.put(memory.group, message.member_id, memory.instance_id, seat)
            seat.chosen, seat.election = chosen, elected(message) if chosen else None
        if chosen and memory.offer is not None:
            tell_join(message, memory.offer)
        return chosen

    def _seat(self, message: Any, client_id: str) -> MemberEntry:  # noqa: ANN401
        group, instance_id = message.group_id, message.group_instance_id
        if message.member_id or instance_id is not None:
            known = self._shared.seats.find(group, message.member_id, instance_id)
            if known is not None:
                if not message.member_id:
                    # A static member came back. It is another process, and when the one before stopped nobody saw.
                    known.presence.settle()
                    known.presence = self._shared.presence(group, client_id, instance_id)
                return known
        recent = self._recent.get(group)
        if recent is not None and message.member_id in ("", recent.presence.member_id):
            return recent
        return MemberEntry(self._shared.presence(group, client_id, instance_id))

    def _offer(self, message: Any, seat: MemberEntry, own: OwnProtocol | None, client_id: str) -> Offer | None:  # noqa: ANN401
        group, shared = message.group_id, self._shared
        rule = shared.rules.of(group)
        if rule is None:
            return None
        if own is None or not own.common:
            self._foreign(message, client_id)
            return None
        if problem := serves(rule.strategy, own.names):
            shared.count(FrameOutcome.MISFIT)
            shared.complain(logging.ERROR, group, client_id, f"its own assignor stays: {problem}")
            return None
        shared.count(FrameOutcome.OFFERED)
        return offer(message, own, rule.strategy, self._metadata(seat, rule, own))

    def _metadata(self, seat: MemberEntry, rule: Rule, own: OwnProtocol) -> bytes:
        """The member's subscription for our strategy: the client's own topics, and what it owns.

        What a cooperative client keeps it says itself; of an eager one nobody knows but who saw its last assignment.
        Many clients tell their rack only when they fetch.
        """
        said, presence = own.subscription, seat.presence
        rack = said.rack_id or self._shared.rack or None
        participant = seat.participant
        if participant is None or seat.rack != rack:
            before, seat.rack = participant, rack
            participant = seat.participant = Participant(
                (rule.strategy,), rule.config, group=presence.group, rack=seat.rack
            )
            if before is None:
                participant.received(presence.owned, presence.generation)
            else:
                participant.received(before.owned, before.generation)
        if own.protocol is RebalanceProtocol.COOPERATIVE:
            dated = said.generation_id if said.generation_id >= 0 else participant.generation
            participant.received(said.owned_partitions, dated)
        return participant.subscription(rule.strategy, said.topics)

    def _foreign(self, message: Any, client_id: str) -> FrameResult:  # noqa: ANN401
        rule = self._shared.rules.of(message.group_id)
        if rule is not None:
            names = ", ".join(each.name for each in message.protocols or ())[:200]
            self._shared.count(FrameOutcome.FOREIGN)
            text = f"{rule.strategy.name} is for consumers with Kafka's own assignors alone, not for {names!r}"
            self._shared.complain(logging.WARNING, message.group_id, client_id, text)
        return FrameResult()
