"""Runs the join and sync phases of a group, and keeps the members for which each phase waits.

The phases follow these methods of Kafka's ``GroupMetadataManager``: ``prepareRebalance``, ``completeClassicGroupJoin``,
``expirePendingSync``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.group import GroupState
from rebalance_agent.model.subscription import GroupAssignment
from rebalance_agent.testing.simulation.action_queue import ActionQueue, PlannedAction, cancel
from rebalance_agent.testing.simulation.group_messages import GroupError, JoinReply, ResponseReceiver
from rebalance_agent.testing.simulation.member_registry import Registered, Registry
from rebalance_agent.testing.simulation.script import SimulationSettings
from rebalance_agent.testing.simulation.timeline_recorder import TimelineRecorder

__all__ = ["GroupPhases"]


class GroupPhases:
    """State, generation and members of a group. Responses are planned actions, never sent at once.

    ``newcomers``: member id -> session timeout (ms), for dynamic members that have an id and have not joined with it.
    A join phase waits for these members.
    """

    def __init__(
        self,
        actions: ActionQueue,
        settings: SimulationSettings,
        recorder: TimelineRecorder,
        expire: Callable[[Registered], None],
    ) -> None:
        """Start empty. ``expire`` is called when a member's session ends; ``recorder`` records the phases' results."""
        self._actions = actions
        self._settings = settings
        self._recorder = recorder
        self._expire = expire
        self.generation = 0
        self.strategy = ""
        self.registry = Registry()
        self.newcomers: dict[str, int] = {}
        self._unsynced: set[str] = set()
        self._missed: list[str] = []
        self._first_round = False
        self._joined_in_first_round = False
        self._join_end: PlannedAction | None = None
        self._sync_end: PlannedAction | None = None
        self.enter(GroupState.EMPTY)

    def enter(self, state: GroupState) -> None:
        """Change to ``state``."""
        self.state = state
        self._recorder.entered(state)

    # -- the join phase ----------------------------------------------------------------------------------------

    def rebalance(self, trigger: Trigger, cause: str) -> None:
        """Begin a join phase after a change of the members; if one is running, check whether it is complete."""
        if self.state is GroupState.PREPARING_REBALANCE:
            if self._first_round:
                self._joined_in_first_round = True
            else:
                self.complete_join_if_all_wait()
            return
        if self.state is GroupState.COMPLETING_REBALANCE:
            self._recorder.aborted()
            for member in list(self.registry.members.values()):
                member.assignment = {}
                if member.syncing:
                    self.answer_sync(member, GroupError.REBALANCE_IN_PROGRESS)
        self._first_round = self.state is GroupState.EMPTY
        self._joined_in_first_round = False
        self._missed.clear()
        cancel(self._sync_end)
        self._recorder.began(Trigger.GROUP_STARTED if self._first_round else trigger, cause)
        self.enter(GroupState.PREPARING_REBALANCE)
        if self._first_round:
            delay_ms = self._settings.initial_rebalance_delay_ms
            left_ms = max(self.registry.rebalance_timeout_ms() - delay_ms, 0)
            self._plan_join_end(delay_ms, partial(self._end_first_round, delay_ms, left_ms))
            return
        for member in self.registry.members.values():
            if member.joined_ms is None:
                member.receiver.rebalancing()
        self._plan_join_end(self.registry.rebalance_timeout_ms(), self._complete_join)
        self.complete_join_if_all_wait()

    def _end_first_round(self, delay_ms: int, left_ms: int) -> None:
        """Extend the first join phase while members keep joining, up to the rebalance timeout."""
        if self._joined_in_first_round and left_ms:
            self._joined_in_first_round = False
            next_ms = min(self._settings.initial_rebalance_delay_ms, left_ms)
            left_ms = max(left_ms - delay_ms, 0)
            self._plan_join_end(next_ms, partial(self._end_first_round, next_ms, left_ms))
        else:
            self._complete_join()

    def complete_join_if_all_wait(self) -> None:
        """End the join phase if it is running and all members have joined."""
        preparing = self.state is GroupState.PREPARING_REBALANCE
        if preparing and not self.newcomers and self.registry.all_wait():
            self._complete_join()

    def _complete_join(self) -> None:
        """End the join phase. Members that have not joined are removed, unless they are static."""
        cancel(self._join_end)
        for member in [registered for registered in self.registry.members.values() if registered.joined_ms is None]:
            self._missed.append(member.receiver.name)
            if not member.static:
                self.registry.remove(member)
                member.receiver.expelled()
        if self.registry.members and not self.registry.elect():
            # There are only static members, and none has joined: wait until their sessions end.
            self._missed.clear()
            self._plan_join_end(self.registry.rebalance_timeout_ms(), self._complete_join)
            return
        self._first_round = False
        self.generation += 1
        self.strategy = self.registry.select() if self.registry.members else ""
        self._recorder.joined(self.generation, self.strategy, self.registry, tuple(self._missed))
        if not self.registry.members:
            self.enter(GroupState.EMPTY)
            return
        self.enter(GroupState.COMPLETING_REBALANCE)
        self._unsynced = set(self.registry.members)
        timeout_ms = self.registry.rebalance_timeout_ms()
        self._sync_end = self._actions.after(timeout_ms, partial(self._expire_sync, self.generation))
        for member in self.registry.members.values():
            member.is_new = False
            if member.joined_ms is None:
                self.expire_at(member, self._actions.now_ms + member.request.session_timeout_ms)
                member.receiver.expelled()
            else:
                self.reply_joined(member)

    # -- the sync phase ----------------------------------------------------------------------------------------

    def store(self, plan: GroupAssignment) -> None:
        """Store the leader's assignment, after which the group is stable."""
        for member in self.registry.members.values():
            member.assignment = plan.members.get(member.member_id, {})
        self._recorder.synced(
            {registered.member_id: registered.assignment for registered in self.registry.members.values()}, plan
        )
        self.enter(GroupState.STABLE)
        for member in self.registry.members.values():
            if member.syncing:
                self.answer_sync(member, GroupError.NONE)

    def synced(self, member: Registered) -> None:
        """Stop waiting for the SyncGroup of ``member``."""
        self._unsynced.discard(member.member_id)
        if not self._unsynced:
            cancel(self._sync_end)

    def _expire_sync(self, generation: int) -> None:
        """Remove members that joined ``generation`` and never sent a SyncGroup."""
        if generation != self.generation or not self._unsynced:
            return
        missing = [member for key, member in self.registry.members.items() if key in self._unsynced]
        for member in missing:
            self.registry.remove(member)
            member.receiver.expelled()
        self._unsynced.clear()
        self.rebalance(Trigger.MEMBER_FAILED, missing[0].receiver.name)

    # -- answers and timers ------------------------------------------------------------------------------------

    def reply_joined(self, member: Registered, *, skip: bool = False) -> None:
        """Answer the member's JoinGroup with the current generation."""
        leads = member.member_id == self.registry.leader
        self.registry.answered(member)
        self.reply(
            member.receiver,
            JoinReply(
                GroupError.NONE,
                member.member_id,
                self.generation,
                self.strategy,
                self.registry.subscriptions(self.strategy) if leads else None,
                skip,
            ),
        )

    def reply(self, receiver: ResponseReceiver, reply: JoinReply) -> None:
        """Send the response to a JoinGroup."""
        self.send(partial(receiver.joined, reply))

    def send(self, answer: Callable[[], None]) -> None:
        """Deliver a response after the latency."""
        self._actions.after(self._settings.latency_ms, answer)

    def answer_sync(self, member: Registered, answer: GroupError) -> None:
        """Answer the member's SyncGroup, with its assignment unless ``answer`` is an error."""
        member.syncing = False
        partitions = member.assignment if answer is GroupError.NONE else {}
        self.send(partial(member.receiver.synced, answer, partitions))
        if member.silent:
            self.expire_at(member, self._actions.now_ms + member.request.session_timeout_ms)
        else:
            cancel(member.expiry)

    def expire_at(self, member: Registered, at_ms: int) -> None:
        """Plan the end of the member's session for ``at_ms``."""
        cancel(member.expiry)
        member.expiry = self._actions.at(at_ms, partial(self._expire, member))

    def _plan_join_end(self, delay_ms: int, action: Callable[[], None]) -> None:
        cancel(self._join_end)
        self._join_end = self._actions.after(delay_ms, action)
