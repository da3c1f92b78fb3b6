"""The simulated group coordinator: handles members' requests like Kafka's classic ``GroupMetadataManager``.

Methods are named after the requests; the join and sync phases that they start are in ``group_phases``.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from rebalance_agent.clients.negotiation import explain_inconsistent_protocols
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.group import GroupState
from rebalance_agent.testing.simulation.action_queue import Agenda
from rebalance_agent.testing.simulation.group_messages import GroupError, JoinReply, JoinRequest, Party, SyncRequest
from rebalance_agent.testing.simulation.group_phases import Rounds
from rebalance_agent.testing.simulation.member_registry import Registered
from rebalance_agent.testing.simulation.script import SimulationSettings
from rebalance_agent.testing.simulation.timeline_recorder import Chronicle

__all__ = ["Coordinator"]

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""Kafka's timeout of a new member's JoinGroup, which replaces its session timeout: it sends no heartbeats yet."""


class Coordinator:
    """The coordinator of one group."""

    def __init__(self, agenda: Agenda, settings: SimulationSettings, chronicle: Chronicle) -> None:
        """A group without members; ``timeline_recorder`` records what happens."""
        self._agenda = agenda
        self._settings = settings
        self._chronicle = chronicle
        self._ids_made: Counter[str] = Counter()
        self._rounds = self._new_group()

    def _new_group(self) -> Rounds:
        return Rounds(self._agenda, self._settings, self._chronicle, self._expire)

    # -- requests ----------------------------------------------------------------------------------------------

    def join(self, request: JoinRequest, party: Party) -> None:
        """Handle a JoinGroup of ``party``."""
        if self._rounds.state is GroupState.DEAD:
            self._rounds = self._new_group()
        member = self._rounds.registry.members.get(request.member_id)
        if not self._rounds.registry.accepts(request.offers):
            self._refuse(request, party)
        elif self._rounds.newcomers.pop(request.member_id, None) is not None:
            self._add(request.member_id, request, party)
        elif member is not None:
            self._join_again(member, request)
        elif request.member_id:
            self._rounds.reply(party, JoinReply(self._unknown(request.instance_id)))
        else:
            self._join_first(request, party)

    def sync(self, request: SyncRequest, party: Party) -> None:
        """Handle a SyncGroup of ``party``."""
        answer = self.heartbeat(request.member_id, request.generation, request.instance_id)
        if answer is not GroupError.NONE:
            self._rounds.send(partial(party.synced, answer, {}))
            return
        member = self._rounds.registry.members[request.member_id]
        member.syncing = True
        self._rounds.synced(member)
        if self._rounds.state is GroupState.STABLE:
            self._rounds.answer_sync(member, GroupError.NONE)
        elif member.member_id == self._rounds.registry.leader and request.plan is not None:
            self._rounds.store(request.plan)

    def heartbeat(self, member_id: str, generation: int, instance_id: str | None) -> GroupError:
        """The response to a Heartbeat."""
        if member_id not in self._rounds.registry.members:
            return self._unknown(instance_id)
        if generation != self._rounds.generation:
            return GroupError.ILLEGAL_GENERATION
        preparing = self._rounds.state is GroupState.PREPARING_REBALANCE
        return GroupError.REBALANCE_IN_PROGRESS if preparing else GroupError.NONE

    def leave(self, member_id: str) -> None:
        """Handle a LeaveGroup."""
        member = self._rounds.registry.members.get(member_id)
        if member is None:
            self._forget_newcomer(member_id)
        else:
            self._remove(member, Trigger.MEMBER_LEFT)

    def silence(self, member_id: str, since_ms: int) -> None:
        """Plan the end of the session of a member that sent its last heartbeat at ``since_ms``."""
        session_ms = self._rounds.newcomers.get(member_id)
        member = self._rounds.registry.members.get(member_id)
        if session_ms is not None:
            self._agenda.at(since_ms + session_ms, partial(self._forget_newcomer, member_id))
        elif member is not None:
            member.silent = True
            if member.is_new and member.joined_ms is not None:
                self._rounds.expire_at(member, member.joined_ms + NEW_MEMBER_JOIN_TIMEOUT_MS)
            elif member.joined_ms is None and not member.syncing:
                self._rounds.expire_at(member, since_ms + member.request.session_timeout_ms)

    def delete(self) -> None:
        """Handle DeleteGroups: an empty group becomes dead."""
        if self._rounds.state is GroupState.EMPTY and not self._rounds.newcomers:
            self._rounds.enter(GroupState.DEAD)

    # -- joining -----------------------------------------------------------------------------------------------

    def _join_first(self, request: JoinRequest, party: Party) -> None:
        prefix = party.name if request.instance_id is None else request.instance_id
        self._ids_made[prefix] += 1
        member_id = f"{prefix}-{self._ids_made[prefix]}"
        old = self._rounds.registry.of_instance(request.instance_id)
        if request.instance_id is None:
            self._rounds.newcomers[member_id] = request.session_timeout_ms
            self._rounds.reply(party, JoinReply(GroupError.MEMBER_ID_REQUIRED, member_id))
        elif old is None:
            self._add(member_id, request, party)
        else:
            self._replace(old, member_id, request, party)

    def _add(self, member_id: str, request: JoinRequest, party: Party) -> None:
        self._rounds.registry.add(Registered(member_id, request, party, joined_ms=self._agenda.now_ms))
        self._rounds.rebalance(Trigger.MEMBER_JOINED, party.name)

    def _join_again(self, member: Registered, request: JoinRequest) -> None:
        changed = list(request.offers.items()) != list(member.request.offers.items())
        leads = member.member_id == self._rounds.registry.leader
        state = self._rounds.state
        if changed or state is GroupState.PREPARING_REBALANCE or (state is GroupState.STABLE and leads):
            self._rounds.registry.wait(member, request, self._agenda.now_ms)
            self._rounds.rebalance(request.reason, member.party.name)
        else:
            # It may have missed the response to its last JoinGroup.
            self._rounds.reply_joined(member)

    def _replace(self, old: Registered, member_id: str, request: JoinRequest, party: Party) -> None:
        """Replace a static member by its new process; the former one is fenced (KIP-345)."""
        new = Registered(member_id, request, party, joined_ms=self._agenda.now_ms, is_new=old.is_new)
        new.assignment = old.assignment
        self._rounds.registry.replace(old, new)
        self._rounds.synced(old)
        if old.joined_ms is not None:
            self._rounds.reply(old.party, JoinReply(GroupError.FENCED_INSTANCE_ID))
        old.party.expelled()
        if self._rounds.state is not GroupState.STABLE:
            self._rounds.rebalance(Trigger.MEMBER_REPLACED, party.name)
        elif self._rounds.registry.select() != self._rounds.strategy:
            self._rounds.rebalance(Trigger.ASSIGNOR_CHANGED, party.name)
        else:
            self._chronicle.replaced(party.name, self._rounds.generation, old.member_id, member_id)
            self._rounds.reply_joined(new, skip=True)

    def _refuse(self, request: JoinRequest, party: Party) -> None:
        explanation = explain_inconsistent_protocols(party.name, tuple(request.offers), self._rounds.registry.offers())
        self._rounds.reply(
            party, JoinReply(GroupError.INCONSISTENT_GROUP_PROTOCOL, request.member_id, explanation=explanation)
        )

    def _unknown(self, instance_id: str | None) -> GroupError:
        fenced = self._rounds.registry.of_instance(instance_id) is not None
        return GroupError.FENCED_INSTANCE_ID if fenced else GroupError.UNKNOWN_MEMBER_ID

    # -- leaving -----------------------------------------------------------------------------------------------

    def _remove(self, member: Registered, trigger: Trigger) -> None:
        self._rounds.registry.remove(member)
        self._rounds.synced(member)
        member.party.expelled()
        if self._rounds.state is GroupState.PREPARING_REBALANCE:
            self._rounds.complete_join_if_all_wait()
        else:
            self._rounds.rebalance(trigger, member.party.name)

    def _expire(self, member: Registered) -> None:
        waiting = member.joined_ms is not None or member.syncing
        current = self._rounds.registry.members.get(member.member_id) is member
        if current and (member.is_new or not waiting):
            self._remove(member, Trigger.MEMBER_FAILED)

    def _forget_newcomer(self, member_id: str) -> None:
        if self._rounds.newcomers.pop(member_id, None) is not None:
            self._rounds.complete_join_if_all_wait()
