"""Rewrites SyncGroup: replaces the leader's assignment by our assignment, and records each member's assignment."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import Any

from kafka.protocol.consumer.group import SyncGroupRequest, SyncGroupResponse

from rebalance_agent.clients.participant import read_assignment
from rebalance_agent.gateway.groups.client_answers import Election, rename, restore_assignment, translate_assignments
from rebalance_agent.gateway.groups.client_membership import ClientMembership
from rebalance_agent.gateway.groups.frame_handler import (
    PASS,
    FrameHandler,
    FrameResult,
    note_loss,
)
from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome
from rebalance_agent.gateway.groups.leading.leader_decision import LeaderDecision, budget_seconds, decide
from rebalance_agent.gateway.groups.member_entries import MemberEntry
from rebalance_agent.gateway.groups.offered_protocols import Offer
from rebalance_agent.gateway.transport.kafka_messages import Ask
from rebalance_agent.groupprotocol.consumer_protocol import NEWEST_VERSION
from rebalance_agent.groupprotocol.wire.error_codes import INCONSISTENT_GROUP_PROTOCOL, NO_ERROR, REBALANCE_IN_PROGRESS
from rebalance_agent.instrumentation.led_members import LedMembers
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.subscription import ConsumerAssignment

__all__ = ["SyncGroupHandler"]


_NOTHING = ConsumerAssignment(NEWEST_VERSION, {})


@dataclass(frozen=True, slots=True)
class _Sent:
    group: str
    client_id: str
    generation: int
    entry: MemberEntry | None
    membership: ClientMembership | None
    ours: Offer | None
    led: LedMembers | None = None


class SyncGroupHandler(FrameHandler):
    """Handles the SyncGroups of one connection."""

    REQUEST = SyncGroupRequest
    RESPONSE = SyncGroupResponse
    STRICT = True

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401
        """Name our strategy in the request if the group chose it; for the leader, compute the assignment."""
        entry = self._shared.entries.find(message.group_id, message.member_id, message.group_instance_id)
        current = entry is not None and entry.membership.generation == message.generation_id
        ours = entry.active_offer if entry is not None and current else None
        if entry is None and self._shared.rules.of(message.group_id) is None:
            return PASS
        membership = entry.membership if entry else None
        if entry is not None and ours is not None:
            rename(message, ours.client_name, ours.strategy.name)
            if entry.election is not None:
                await self._assign(message, entry, ours, entry.election, ask)
        led = None
        if entry is not None and entry.led is not None and current:
            led = entry.led.assigned({each.member_id: bytes(each.assignment) for each in message.assignments})
        sent = _Sent(message.group_id, client_id, message.generation_id, entry, membership, ours, led)
        return FrameResult(changed=ours is not None, memory=sent)

    def response(self, message: Any, memory: _Sent) -> bool:  # noqa: ANN401
        """Name the client's own assignor in the response, and record the assignment."""
        entry, membership, ours = memory.entry, memory.membership, memory.ours
        if message.error_code == INCONSISTENT_GROUP_PROTOCOL and ours is None and self._has_rule(memory.group):
            # The JoinGroup was answered before this gateway started; after the client rejoins, it and the coordinator
            # agree.
            self._shared.count(FrameOutcome.SENT_BACK)
            text = "its SyncGroup belongs to a JoinGroup of another connection: the gateway makes it rejoin"
            self._shared.log_problem(logging.WARNING, memory.group, memory.client_id, text)
            message.error_code = REBALANCE_IN_PROGRESS
            return True
        if ours is not None:
            rename(message, ours.strategy.name, ours.client_name)
        if entry is None or membership is None:
            return False
        if message.error_code == NO_ERROR:
            self._given(message, entry, membership, memory)
        elif message.error_code == REBALANCE_IN_PROGRESS:
            membership.record_interruption()
        else:
            note_loss(membership, message.error_code, "SyncGroup", memory.generation)
        return ours is not None

    def _given(self, message: Any, entry: MemberEntry, membership: ClientMembership, sent: _Sent) -> None:  # noqa: ANN401
        # A member without an entry in the leader's assignment gets no bytes at all: it owns no partitions.
        if sent.led is not None and entry.led is not None:
            entry.led = None  # a repeated SyncGroup does not begin another generation
            timeouts = round(entry.terms.session_seconds * 1000), round(entry.terms.rebalance_seconds * 1000)
            membership.events.record_generation(sent.led, *timeouts)
        given = read_assignment(bytes(message.assignment)) if message.assignment else _NOTHING
        if given is None or sent.generation != membership.generation:
            return
        membership.record_assigned(given.partitions)
        self._shared.await_fetch(membership)
        # Another process may have taken over the static member's entry.
        if entry.terms.participant is not None and entry.membership is membership:
            strategy = sent.ours.strategy if sent.ours else None
            entry.terms.participant.received(given.partitions, sent.generation, strategy, given.user_data)
        if sent.ours is not None:
            restore_assignment(message, given)

    async def _assign(self, message: Any, entry: MemberEntry, ours: Offer, election: Election, ask: Ask) -> None:  # noqa: ANN401
        """Replace the client's assignment by our assignor's assignment, unless our assignor fails or takes too long."""
        shared, participant = self._shared, entry.terms.participant
        budget = budget_seconds(shared.assign_seconds, entry.terms.rebalance_seconds, entry.terms.session_seconds)
        started = shared.clock.monotonic()
        try:
            if participant is None:
                raise LookupError("this member has no strategy in the gateway")  # noqa: TRY301 - reported like every other failure
            decided = await asyncio.wait_for(
                decide(ours.strategy, participant, election, ask, shared.executor, shared.clock), budget
            )
            translate_assignments(message, decided.answers, election)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client's own assignment is used
            late = isinstance(error, TimeoutError)
            shared.count(FrameOutcome.ASSIGN_LATE if late else FrameOutcome.ASSIGN_FAILED)
            problem = f"was not ready within {budget:.3g} s" if late else f"failed: {type(error).__name__}: {error}"
            text = f"{ours.strategy.name} {problem}; the client's own assignment is used"
            shared.log_problem(logging.ERROR, entry.membership.group, entry.membership.client_id, text)
            seconds = shared.clock.monotonic() - started
            facts = (ours.strategy.name, election.generation, len(election.members), seconds)
            entry.membership.events.record_decision(*facts, error=error)
        else:
            shared.count(FrameOutcome.ASSIGNED)
            self._judge(entry.membership, ours, election, decided)

    def _judge(self, membership: ClientMembership, ours: Offer, election: Election, decided: LeaderDecision) -> None:
        """Report the assignment with its quality, which is computed later, so that the group need not wait."""

        def report(judged: asyncio.Future[AssignmentQuality | None]) -> None:
            quality = None
            with contextlib.suppress(Exception, asyncio.CancelledError):
                quality = judged.result()
            facts = (ours.strategy.name, election.generation, len(election.members), decided.seconds)
            membership.events.record_decision(*facts, decided.decision, quality)

        loop = asyncio.get_running_loop()
        loop.run_in_executor(self._shared.executor, decided.decision.quality).add_done_callback(report)

    def _has_rule(self, group: str) -> bool:
        return self._shared.rules.of(group) is not None
