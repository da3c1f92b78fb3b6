"""Simulates the group coordinator: handles members' requests like Kafka's classic ``GroupMetadataManager``.

Methods are named after the requests; ``group_phases`` has the join and sync phases that the methods start.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from rebalance_agent.clients.negotiation import explain_inconsistent_protocols
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.group import GroupState
from rebalance_agent.testing.simulation.action_queue import ActionQueue
from rebalance_agent.testing.simulation.group_messages import (
    GroupError,
    JoinReply,
    JoinRequest,
    ResponseReceiver,
    SyncRequest,
)
from rebalance_agent.testing.simulation.group_phases import GroupPhases
from rebalance_agent.testing.simulation.member_registry import Registered
from rebalance_agent.testing.simulation.script import SimulationSettings
from rebalance_agent.testing.simulation.timeline_recorder import TimelineRecorder

__all__ = ["Coordinator"]

NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""Kafka's timeout (ms) of a new member's JoinGroup, instead of a session timeout: the member sends no heartbeats
yet."""


class Coordinator:
    """The coordinator of one group."""

    def __init__(self, actions: ActionQueue, settings: SimulationSettings, recorder: TimelineRecorder) -> None:
        """Start with a group without members; ``recorder`` records generations and assignments."""
        self._actions = actions
        self._settings = settings
        self._recorder = recorder
        self._ids_made: Counter[str] = Counter()
        self._phases = self._new_group()

    def _new_group(self) -> GroupPhases:
        return GroupPhases(self._actions, self._settings, self._recorder, self._expire)

    # -- requests ----------------------------------------------------------------------------------------------

    def join(self, request: JoinRequest, receiver: ResponseReceiver) -> None:
        """Handle a JoinGroup of ``receiver``."""
        if self._phases.state is GroupState.DEAD:
            self._phases = self._new_group()
        member = self._phases.registry.members.get(request.member_id)
        if not self._phases.registry.accepts(request.offers):
            self._refuse(request, receiver)
        elif self._phases.newcomers.pop(request.member_id, None) is not None:
            self._add(request.member_id, request, receiver)
        elif member is not None:
            self._join_again(member, request)
        elif request.member_id:
            self._phases.reply(receiver, JoinReply(self._unknown(request.instance_id)))
        else:
            self._join_first(request, receiver)

    def sync(self, request: SyncRequest, receiver: ResponseReceiver) -> None:
        """Handle a SyncGroup of ``receiver``."""
        answer = self.heartbeat(request.member_id, request.generation, request.instance_id)
        if answer is not GroupError.NONE:
            self._phases.send(partial(receiver.synced, answer, {}))
            return
        member = self._phases.registry.members[request.member_id]
        member.syncing = True
        self._phases.synced(member)
        if self._phases.state is GroupState.STABLE:
            self._phases.answer_sync(member, GroupError.NONE)
        elif member.member_id == self._phases.registry.leader and request.plan is not None:
            self._phases.store(request.plan)

    def heartbeat(self, member_id: str, generation: int, instance_id: str | None) -> GroupError:
        """Return the response to a Heartbeat."""
        if member_id not in self._phases.registry.members:
            return self._unknown(instance_id)
        if generation != self._phases.generation:
            return GroupError.ILLEGAL_GENERATION
        preparing = self._phases.state is GroupState.PREPARING_REBALANCE
        return GroupError.REBALANCE_IN_PROGRESS if preparing else GroupError.NONE

    def leave(self, member_id: str) -> None:
        """Handle a LeaveGroup."""
        member = self._phases.registry.members.get(member_id)
        if member is None:
            self._forget_newcomer(member_id)
        else:
            self._remove(member, Trigger.MEMBER_LEFT)

    def silence(self, member_id: str, since_ms: int) -> None:
        """Plan the end of the session of a member that sent its last heartbeat at ``since_ms``."""
        session_ms = self._phases.newcomers.get(member_id)
        member = self._phases.registry.members.get(member_id)
        if session_ms is not None:
            self._actions.at(since_ms + session_ms, partial(self._forget_newcomer, member_id))
        elif member is not None:
            member.silent = True
            if member.is_new and member.joined_ms is not None:
                self._phases.expire_at(member, member.joined_ms + NEW_MEMBER_JOIN_TIMEOUT_MS)
            elif member.joined_ms is None and not member.syncing:
                self._phases.expire_at(member, since_ms + member.request.session_timeout_ms)

    def delete(self) -> None:
        """Handle DeleteGroups: an empty group becomes dead."""
        if self._phases.state is GroupState.EMPTY and not self._phases.newcomers:
            self._phases.enter(GroupState.DEAD)

    # -- joining -----------------------------------------------------------------------------------------------

    def _join_first(self, request: JoinRequest, receiver: ResponseReceiver) -> None:
        prefix = receiver.name if request.instance_id is None else request.instance_id
        self._ids_made[prefix] += 1
        member_id = f"{prefix}-{self._ids_made[prefix]}"
        old = self._phases.registry.of_instance(request.instance_id)
        if request.instance_id is None:
            self._phases.newcomers[member_id] = request.session_timeout_ms
            self._phases.reply(receiver, JoinReply(GroupError.MEMBER_ID_REQUIRED, member_id))
        elif old is None:
            self._add(member_id, request, receiver)
        else:
            self._replace(old, member_id, request, receiver)

    def _add(self, member_id: str, request: JoinRequest, receiver: ResponseReceiver) -> None:
        self._phases.registry.add(Registered(member_id, request, receiver, joined_ms=self._actions.now_ms))
        self._phases.rebalance(Trigger.MEMBER_JOINED, receiver.name)

    def _join_again(self, member: Registered, request: JoinRequest) -> None:
        changed = list(request.offers.items()) != list(member.request.offers.items())
        leads = member.member_id == self._phases.registry.leader
        state = self._phases.state
        if changed or state is GroupState.PREPARING_REBALANCE or (state is GroupState.STABLE and leads):
            self._phases.registry.wait(member, request, self._actions.now_ms)
            self._phases.rebalance(request.reason, member.receiver.name)
        else:
            # The member may have missed the response to its last JoinGroup.
            self._phases.reply_joined(member)

    def _replace(self, old: Registered, member_id: str, request: JoinRequest, receiver: ResponseReceiver) -> None:
        """Replace a static member with its new process; the former process is fenced (KIP-345)."""
        new = Registered(member_id, request, receiver, joined_ms=self._actions.now_ms, is_new=old.is_new)
        new.assignment = old.assignment
        self._phases.registry.replace(old, new)
        self._phases.synced(old)
        if old.joined_ms is not None:
            self._phases.reply(old.receiver, JoinReply(GroupError.FENCED_INSTANCE_ID))
        old.receiver.expelled()
        if self._phases.state is not GroupState.STABLE:
            self._phases.rebalance(Trigger.MEMBER_REPLACED, receiver.name)
        elif self._phases.registry.select() != self._phases.strategy:
            self._phases.rebalance(Trigger.ASSIGNOR_CHANGED, receiver.name)
        else:
            self._recorder.replaced(receiver.name, self._phases.generation, old.member_id, member_id)
            self._phases.reply_joined(new, skip=True)

    def _refuse(self, request: JoinRequest, receiver: ResponseReceiver) -> None:
        explanation = explain_inconsistent_protocols(
            receiver.name, tuple(request.offers), self._phases.registry.offers()
        )
        self._phases.reply(
            receiver, JoinReply(GroupError.INCONSISTENT_GROUP_PROTOCOL, request.member_id, explanation=explanation)
        )

    def _unknown(self, instance_id: str | None) -> GroupError:
        fenced = self._phases.registry.of_instance(instance_id) is not None
        return GroupError.FENCED_INSTANCE_ID if fenced else GroupError.UNKNOWN_MEMBER_ID

    # -- leaving -----------------------------------------------------------------------------------------------

    def _remove(self, member: Registered, trigger: Trigger) -> None:
        self._phases.registry.remove(member)
        self._phases.synced(member)
        member.receiver.expelled()
        if self._phases.state is GroupState.PREPARING_REBALANCE:
            self._phases.complete_join_if_all_wait()
        else:
            self._phases.rebalance(trigger, member.receiver.name)

    def _expire(self, member: Registered) -> None:
        waiting = member.joined_ms is not None or member.syncing
        current = self._phases.registry.members.get(member.member_id) is member
        if current and (member.is_new or not waiting):
            self._remove(member, Trigger.MEMBER_FAILED)

    def _forget_newcomer(self, member_id: str) -> None:
        if self._phases.newcomers.pop(member_id, None) is not None:
            self._phases.complete_join_if_all_wait()
