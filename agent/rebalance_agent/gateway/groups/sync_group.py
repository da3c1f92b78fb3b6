"""SyncGroup: the leader's assignment replaced by ours, and what a member is given noted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import Any

from kafka.protocol.consumer.group import SyncGroupRequest, SyncGroupResponse

from rebalance_agent.clients.participant import read_assignment
from rebalance_agent.gateway.groups.client_answers import Election, rename, tell_assignment, translate_assignments
from rebalance_agent.gateway.groups.client_membership import ClientMembership
from rebalance_agent.gateway.groups.frame_handler import (
    INCONSISTENT_GROUP_PROTOCOL,
    NO_ERROR,
    PASS,
    REBALANCE_IN_PROGRESS,
    FrameHandler,
    FrameResult,
    lose,
)
from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome, GatewayGroups
from rebalance_agent.gateway.groups.leader_decision import LeaderDecision, budget_seconds, decide
from rebalance_agent.gateway.groups.member_entries import MemberEntry
from rebalance_agent.gateway.groups.offered_protocols import Offer
from rebalance_agent.gateway.transport.kafka_messages import Ask
from rebalance_agent.groupprotocol.consumer_protocol import NEWEST_VERSION
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.subscription import ConsumerAssignment

__all__ = ["SyncGroupHandler"]


_NOTHING = ConsumerAssignment(NEWEST_VERSION, {})


@dataclass(frozen=True, slots=True)
class _Sent:
    group: str
    client_id: str
    generation: int
    seat: MemberEntry | None
    presence: ClientMembership | None
    ours: Offer | None


class SyncGroupHandler(FrameHandler):
    """The SyncGroups of one connection."""

    REQUEST = SyncGroupRequest
    RESPONSE = SyncGroupResponse
    STRICT = True

    def __init__(self, shared: GatewayGroups) -> None:
        """A connection's first."""
        self._shared = shared

    async def request(self, message: Any, client_id: str, ask: Ask) -> FrameResult:  # noqa: ANN401
        """Say our strategy's name where it was chosen; in the leader, assign."""
        seat = self._shared.seats.find(message.group_id, message.member_id, message.group_instance_id)
        current = seat is not None and seat.presence.generation == message.generation_id
        ours = seat.ours if seat is not None and current else None
        if seat is None and self._shared.rules.of(message.group_id) is None:
            return PASS
        presence = seat.presence if seat else None
        sent = _Sent(message.group_id, client_id, message.generation_id, seat, presence, ours)
        if seat is None or ours is None:
            return FrameResult(memory=sent)
        rename(message, ours.told, ours.strategy.name)
        if seat.election is not None:
            await self._assign(message, seat, ours, seat.election, ask)
        return FrameResult(changed=True, memory=sent)

    def response(self, message: Any, memory: _Sent) -> bool:  # noqa: ANN401
        """Say the client's own name; note what it was given."""
        seat, presence, ours = memory.seat, memory.presence, memory.ours
        if message.error_code == INCONSISTENT_GROUP_PROTOCOL and ours is None and self._known(memory.group):
            # The JoinGroup was answered before this gateway began: only by rejoining the two agree again.
            self._shared.count(FrameOutcome.SENT_BACK)
            text = "its SyncGroup is of a JoinGroup that this gateway has not seen: it is told to rejoin"
            self._shared.complain(logging.WARNING, memory.group, memory.client_id, text)
            message.error_code = REBALANCE_IN_PROGRESS
            return True
        if ours is not None:
            rename(message, ours.strategy.name, ours.told)
        if seat is None or presence is None:
            return False
        if message.error_code == NO_ERROR:
            self._given(message, seat, presence, memory)
        elif message.error_code == REBALANCE_IN_PROGRESS:
            presence.interrupted()
        else:
            lose(presence, message.error_code, "SyncGroup", memory.generation)
        return ours is not None

    def _given(self, message: Any, seat: MemberEntry, presence: ClientMembership, sent: _Sent) -> None:  # noqa: ANN401
        # A leader that forgets a member leaves it with no bytes at all: it owns nothing.
        given = read_assignment(bytes(message.assignment)) if message.assignment else _NOTHING
        if given is None or sent.generation != presence.generation:
            return
        presence.given(given.partitions)
        self._shared.await_fetch(presence)
        # Another process may have taken the static member's seat meanwhile.
        if seat.participant is not None and seat.presence is presence:
            strategy = sent.ours.strategy if sent.ours else None
            seat.participant.received(given.partitions, sent.generation, strategy, given.user_data)
        if sent.ours is not None:
            tell_assignment(message, given)

    async def _assign(self, message: Any, seat: MemberEntry, ours: Offer, election: Election, ask: Ask) -> None:  # noqa: ANN401
        """Replace what the client assigned, unless that fails or takes too long."""
        shared, participant = self._shared, seat.participant
        budget = budget_seconds(shared.assign_seconds, seat.rebalance_seconds, seat.session_seconds)
        started = shared.clock.monotonic()
        try:
            if participant is None:
                raise LookupError("there is no participant")  # noqa: TRY301 - told like every other failure
            decided = await asyncio.wait_for(
                decide(ours.strategy, participant, election, ask, shared.executor, shared.clock), budget
            )
            translate_assignments(message, decided.answers, election)
        except Exception as error:  # noqa: BLE001 - whatever it is, the group goes on by the client's own assignment
            late = isinstance(error, TimeoutError)
            shared.count(FrameOutcome.ASSIGN_LATE if late else FrameOutcome.ASSIGN_FAILED)
            problem = f"was not done within {budget:.3g} s" if late else f"failed: {type(error).__name__}: {error}"
            text = f"{ours.strategy.name} {problem}; the client's own assignment goes through"
            shared.complain(logging.ERROR, seat.presence.group, seat.presence.client_id, text)
            seconds = shared.clock.monotonic() - started
            told = (ours.strategy.name, election.generation, len(election.members), seconds)
            seat.presence.decided(*told, error=error)
        else:
            shared.count(FrameOutcome.ASSIGNED)
            self._judge(seat.presence, ours, election, decided)

    def _judge(self, presence: ClientMembership, ours: Offer, election: Election, decided: LeaderDecision) -> None:
        """Tell how good it is, later: the group does not wait for that, and may be in the next generation by then."""

        def told(judged: asyncio.Future[AssignmentQuality | None]) -> None:
            quality = None
            with contextlib.suppress(Exception, asyncio.CancelledError):
                quality = judged.result()
            told = (ours.strategy.name, election.generation, len(election.members), decided.seconds)
            presence.decided(*told, decided.decision, quality)

        loop = asyncio.get_running_loop()
        loop.run_in_executor(self._shared.executor, decided.decision.quality).add_done_callback(told)

    def _known(self, group: str) -> bool:
        return self._shared.rules.of(group) is not None
