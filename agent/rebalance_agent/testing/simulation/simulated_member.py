"""Simulates a consumer, which joins, assigns, runs callbacks and polls like Kafka's own consumers.

Only heartbeats whose response differs from the last one are simulated; the coordinator announces them.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from functools import partial

from rebalance_agent.assignors.strategy_registry import strategy
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import UNKNOWN_GENERATION, GroupAssignment, GroupSubscription
from rebalance_agent.testing.simulation.group_messages import GroupError, JoinReply, JoinRequest, SyncRequest
from rebalance_agent.testing.simulation.heartbeat_times import HeartbeatTimes
from rebalance_agent.testing.simulation.member_topics import MemberTopics
from rebalance_agent.testing.simulation.script import SimulatedMember
from rebalance_agent.testing.simulation.shared_state import SharedState
from rebalance_agent.testing.simulation.stalled_partitions import minus

__all__ = ["MemberProcess"]


class _Phase(Enum):
    JOINING = auto()
    SYNCING = auto()
    CALLBACK = auto()
    POLLING = auto()
    LEAVING = auto()
    GONE = auto()


class MemberProcess:
    """One process of a member, from its start to its end.

    ``_held``: the partitions that the process consumes; ``_assigned``: its last assignment, which is sent to the
    leader.
    """

    def __init__(self, spec: SimulatedMember, shared: SharedState) -> None:
        """Make a process that has not started."""
        self._spec = spec
        self._shared = shared
        self._eager = spec.protocol is RebalanceProtocol.EAGER
        self._phase = _Phase.JOINING
        self._member_id, self._generation = "", UNKNOWN_GENERATION
        self._topics = MemberTopics(spec.topics, shared)
        self._held: TopicPartitions = {}
        self._assigned: TopicPartitions = {}
        self._reason = Trigger.MEMBER_JOINED
        self._rejoin_wanted = self._lost = self._beat_planned = self._change_pending = self._fenced = False
        self._heartbeats = HeartbeatTimes(spec)

    @property
    def name(self) -> str:
        """The member's name in the script."""
        return self._spec.name

    # -- steps of the script -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start and join."""
        self._send_join()

    def close(self) -> None:
        """Revoke all partitions, then leave; a static member sends no LeaveGroup."""
        if self._phase is _Phase.GONE:
            return
        self._phase = _Phase.LEAVING
        self._later(self._give_up(self._held), self._depart)

    def crash(self) -> None:
        """End without running a callback and without a LeaveGroup."""
        self._let_go(self._held)
        self._go_silent()

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Subscribe to ``topics`` from the next poll on."""
        self._topics.wanted = topics
        self._plan_poll()

    def metadata_changed(self, *, racks: bool = False) -> None:
        """Check the cluster's topics at the next poll; the leader rejoins if they, or the ``racks``, have changed."""
        if racks:
            self._topics.see_racks()
        self._plan_poll()

    # -- responses of the coordinator --------------------------------------------------------------------------

    def joined(self, reply: JoinReply) -> None:
        """Handle the response to the JoinGroup."""
        if self._phase is not _Phase.JOINING:
            self._shared.coordinator.silence(reply.member_id, self._shared.now_ms)
        elif reply.answer is GroupError.NONE:
            self._member_id, self._generation = reply.member_id, reply.generation
            self._heartbeats.beats_since_ms = self._shared.now_ms
            self._change_pending = self._fenced = False
            self._phase = _Phase.SYNCING
            self._sync(reply)
        elif reply.answer is GroupError.MEMBER_ID_REQUIRED:
            self._member_id = reply.member_id
            self._send_join()
        elif reply.answer is GroupError.UNKNOWN_MEMBER_ID:
            self._forget()
            self._rejoin()
        else:
            self._end(reply.answer, reply.explanation)

    def synced(self, answer: GroupError, partitions: TopicPartitions) -> None:
        """Handle the response to the SyncGroup."""
        if self._phase is not _Phase.SYNCING:
            return
        if answer is GroupError.NONE:
            self._apply(partitions)
        elif answer is GroupError.FENCED_INSTANCE_ID:
            self._end(answer)
        else:
            self._forget_if_unknown(answer)
            self._rejoin()

    def rebalancing(self) -> None:
        """Simulate the next heartbeat, whose response has changed."""
        self._change_pending = True
        if self._phase in {_Phase.CALLBACK, _Phase.POLLING} and not self._beat_planned:
            self._beat_planned = True
            self._shared.actions.at(self._heartbeats.next_beat_ms(self._shared.now_ms), self._beat)

    def expelled(self) -> None:
        """Lose all partitions; the next heartbeat reports the loss."""
        self._fenced = True
        self._let_go(self._held)
        self.rebalancing()

    # -- joining -----------------------------------------------------------------------------------------------

    def _rejoin(self) -> None:
        """Give up the partitions that the protocol requires, and join. This happens in a poll."""
        self._phase = _Phase.CALLBACK
        self._reason = self._topics.reason
        if self._lost:
            pause_ms = self._spec.revoked_ms if self._assigned else 0
        elif self._eager:
            pause_ms = self._give_up(self._held)
        else:
            unwanted = {topic: numbers for topic, numbers in self._held.items() if topic not in self._topics.wanted}
            pause_ms = self._give_up(unwanted)
            self._assigned = minus(self._assigned, unwanted)
        self._later(pause_ms, self._send_join)

    def _send_join(self) -> None:
        self._phase = _Phase.JOINING
        if self._lost:
            self._let_go(self._held)
            self._assigned = {}
        self._rejoin_wanted = self._lost = False
        self._topics.join()
        request = JoinRequest(
            member_id=self._member_id,
            instance_id=self._spec.instance_id,
            offers=self._spec.offers(self._topics.joined, self._assigned, self._generation),
            session_timeout_ms=self._spec.session_timeout_ms,
            rebalance_timeout_ms=self._spec.rebalance_timeout_ms,
            reason=self._reason,
        )
        self._shared.send(partial(self._shared.coordinator.join, request, self))

    def _sync(self, reply: JoinReply) -> None:
        plan, delay_ms = None, 0
        if reply.members is not None:
            self._topics.lead({topic for member in reply.members for topic in member.topics})
            if not reply.skip:
                group = GroupSubscription(dict(self._shared.topics), reply.members, config=self._spec.config)
                plan, delay_ms = strategy(reply.strategy).assign(group), self._spec.assign_ms
        self._later(delay_ms, partial(self._send_sync, plan))

    def _send_sync(self, plan: GroupAssignment | None) -> None:
        request = SyncRequest(self._member_id, self._spec.instance_id, self._generation, plan)
        self._shared.send(partial(self._shared.coordinator.sync, request, self))

    def _apply(self, partitions: TopicPartitions) -> None:
        """Apply an assignment: run the revoked callback, then the assigned callback, each only if it has partitions."""
        self._phase = _Phase.CALLBACK
        self._heartbeats.beats_since_ms = self._shared.now_ms
        if self._change_pending:
            self.rebalancing()
        if any(topic not in self._topics.wanted for topic in partitions):
            # The assignment is for an outdated subscription: clients refuse it and join again.
            self._topics.joined = tuple(partitions)
            self._poll_on()
            return
        revoked = minus(self._held, partitions)
        added = minus(partitions, self._held)
        self._rejoin_wanted = bool(revoked)  # the member joins again, so that they get new owners
        self._assigned = partitions
        pause_ms = self._give_up(revoked) + (self._spec.assigned_ms if added else 0)
        self._later(pause_ms, partial(self._take_over, added))

    def _take_over(self, added: TopicPartitions) -> None:
        if not self._fenced:
            self._shared.stalled.resumed(self._shared.now_ms, self.name, added)
            self._held = self._assigned
        self._poll_on()

    # -- heartbeats and polls ----------------------------------------------------------------------------------

    def _beat(self) -> None:
        self._beat_planned = False
        if self._phase not in {_Phase.CALLBACK, _Phase.POLLING}:
            return
        answer = self._shared.coordinator.heartbeat(self._member_id, self._generation, self._spec.instance_id)
        if answer is GroupError.FENCED_INSTANCE_ID:
            self._end(answer)
        elif answer is not GroupError.NONE:
            self._forget_if_unknown(answer)
            self._rejoin_wanted = True
            self._plan_poll()

    def _poll_on(self) -> None:
        """Continue to poll after the callbacks."""
        self._phase = _Phase.POLLING
        self._heartbeats.polls_since_ms = self._shared.now_ms
        if self._wants_to_join():
            self._rejoin()
        elif self._spec.processing_ms > self._spec.rebalance_timeout_ms:
            self._later(self._spec.rebalance_timeout_ms, partial(self._overdue, self._heartbeats.polls_since_ms))

    def _plan_poll(self) -> None:
        if self._phase is _Phase.POLLING and self._wants_to_join():
            now_ms = self._shared.now_ms
            self._later(self._heartbeats.next_poll_ms(now_ms) - now_ms, self._poll)

    def _poll(self) -> None:
        if self._phase is _Phase.POLLING and self._wants_to_join():
            self._rejoin()

    def _wants_to_join(self) -> bool:
        return self._rejoin_wanted or self._topics.changed

    def _overdue(self, polled_ms: int) -> None:
        """Leave the group, because ``max.poll.interval.ms`` is exceeded; a static member only stops its heartbeats."""
        if self._phase is not _Phase.POLLING or self._heartbeats.polls_since_ms != polled_ms or self._lost:
            return
        if self._spec.instance_id is None:
            self._shared.coordinator.leave(self._member_id)
            self._let_go(self._held)
            self._forget()
            self._rejoin_wanted = True
            self._plan_poll()
        else:
            silent_ms = self._heartbeats.last_beat_ms(self._shared.now_ms)
            if silent_ms + self._spec.session_timeout_ms < polled_ms + self._spec.processing_ms:
                self._shared.coordinator.silence(self._member_id, silent_ms)

    # -- ends --------------------------------------------------------------------------------------------------

    def _depart(self) -> None:
        if self._spec.instance_id is None:
            self._phase = _Phase.GONE
            self._shared.send(partial(self._shared.coordinator.leave, self._member_id))
        else:
            self._go_silent()

    def _go_silent(self) -> None:
        self._phase = _Phase.GONE
        self._shared.coordinator.silence(self._member_id, self._heartbeats.last_beat_ms(self._shared.now_ms))

    def _end(self, answer: GroupError, explanation: str = "") -> None:
        """End because of an error that ends the application."""
        self.crash()
        if answer is GroupError.FENCED_INSTANCE_ID:
            explanation = f"another member has joined with group.instance.id {self._spec.instance_id}"
        self._shared.recorder.refused(self.name, explanation)

    def _forget_if_unknown(self, answer: GroupError) -> None:
        if answer is not GroupError.REBALANCE_IN_PROGRESS:
            self._forget(keep_id=answer is GroupError.ILLEGAL_GENERATION)

    def _forget(self, *, keep_id: bool = False) -> None:
        self._lost = True
        self._generation = UNKNOWN_GENERATION
        if not keep_id:
            self._member_id = ""

    def _give_up(self, partitions: TopicPartitions) -> int:
        """Stop processing ``partitions``; return the duration of the revoked callback."""
        self._let_go(partitions)
        return self._spec.revoked_ms if partitions else 0

    def _let_go(self, partitions: TopicPartitions) -> None:
        if partitions:
            self._shared.stalled.stopped(self._shared.now_ms, self.name, partitions)
            self._held = minus(self._held, partitions)

    def _later(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Run ``action`` after ``delay_ms``, if the process is still in the same phase."""
        phase = self._phase
        self._shared.actions.after(delay_ms, lambda: action() if self._phase is phase else None)
