"""Tracks one consumer's rebalances from its frames; publishes them as member events with the evidence ``gateway``.

A gateway does not see the client's callbacks. The times of callbacks are taken from the frames before and after them;
``docs/reference/gateway.md`` lists these times and their accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from rebalance_agent.clock import Clock
from rebalance_agent.gateway.groups.callback_times import CallbackTimes
from rebalance_agent.gateway.groups.client_events import ClientEvents, Emit
from rebalance_agent.instrumentation.delivery.heartbeat import PERIOD_SECONDS
from rebalance_agent.model.events import Callback, MemberEvent
from rebalance_agent.model.partitions import TopicPartitions, pairs, topic_partitions
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = ["FETCH_SECONDS_MAX", "FETCH_SECONDS_MIN", "Alive", "ClientMembership"]

FETCH_SECONDS_MAX = 60.0
"""Longest wait (seconds) for a first Fetch: a heartbeat ends the wait within seconds, unless the consumer vanished."""

FETCH_SECONDS_MIN = 2.0
"""Shortest wait (seconds) for a first Fetch: librdkafka sends a heartbeat immediately after SyncGroup, before it calls
the application. The event must arrive before the observer settles the rebalance (``settle_seconds``)."""

Alive = Callable[[str], None]
"""Called with the ``process`` of a consumer's events to report that this process is alive, even without events."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """A point in time: epoch milliseconds for events, monotonic seconds for durations."""

    ms: int
    seconds: float

    def since(self, other: _Moment) -> float:
        """Return seconds since ``other``, rounded to microseconds."""
        return round(self.seconds - other.seconds, 6)


@dataclass(eq=False)
class ClientMembership:
    """A consumer's partitions, and the progress of its rebalance. Call each method when its event happens.

    ``owned``, ``generation``: the last assignment and its generation (-1 if unknown). ``emit`` publishes the events
    that ``events`` builds. ``software``: the consumer's library, if known.
    """

    group: str
    client_id: str
    instance_id: str | None
    clock: Clock
    emit: Emit
    software: ClientSoftware | None = None

    def __post_init__(self) -> None:
        """Start as a consumer that is seen for the first time."""
        names = self.group, self.client_id, self.instance_id
        self.events = ClientEvents(*names, self.clock, self.emit, self.software)
        self.callbacks = CallbackTimes(self.clock, self.emit)
        self.member_id = ""
        self.generation = -1
        self.owned: TopicPartitions = {}
        self._announced: _Moment | None = None
        self._joining: _Moment | None = None
        self._joined: _Moment | None = None
        self._join_reason: str | None = None
        self._leaving: tuple[_Moment, str | None] | None = None
        self._giving_up: tuple[TopicPartitions, _Moment] | None = None
        self._assigned: MemberEvent | None = None
        self._assigned_at: _Moment | None = None
        self._promised: _Moment | None = None
        self._generation_before = -1
        self._beaten: _Moment | None = None

    def beat(self, alive: Alive) -> None:
        """Report that the consumer is alive, since it sent a heartbeat; at most once in `PERIOD_SECONDS`."""
        now = self._now()
        if self._beaten is None or now.since(self._beaten) >= PERIOD_SECONDS:
            self._beaten = now
            alive(self.events.process)

    @property
    def fetch_awaited(self) -> bool:
        """Whether the consumer was assigned partitions and has not fetched from them yet."""
        return self._assigned is not None

    @property
    def rejoining(self) -> bool:
        """Whether the consumer sent a JoinGroup and got no assignment since."""
        return self._joining is not None

    def record_rebalance(self) -> None:
        """Record that the coordinator reported a rebalance of the group."""
        if self._announced is None and self._joining is None:
            self._announced = self._now()

    def record_interruption(self) -> None:
        """Record that the group rebalances again, before the consumer got an assignment."""
        self._joining = None
        self.record_rebalance()

    def record_join_request(self, kept_partitions: TopicPartitions | None = None, reason: str | None = None) -> None:
        """Record a JoinGroup: the consumer gave up all partitions except ``kept_partitions`` (None: it is eager).

        ``reason``: the client's reason (KIP-800).
        """
        self.settle()
        self.record_leave()  # in case an earlier LeaveGroup was not answered yet
        if self._joining is not None:
            return  # a retry
        now = self._joining = self._now()
        self._join_reason = reason
        if kept_partitions and self.generation < 0 and not self.owned:
            self.owned = kept_partitions  # the consumer joined before it used the gateway
        revoked = pairs(self.owned) - pairs(kept_partitions or {})
        self.record_revoked()
        asked, self._announced = self._announced, None
        if asked is not None:
            self.events.waits["stop_seconds"] = now.since(asked)
        if revoked:
            event = self._emit(Callback.REVOKED, topic_partitions(revoked), now.ms, now.ms)
            self.callbacks.revoked(event, math.inf if asked is None else now.since(asked))
        elif kept_partitions is None and not self.owned:
            self.callbacks.revoked(None)  # Java's eager clients call the callback even without partitions
        self.owned = topic_partitions(pairs(self.owned) - revoked)

    def record_owned(self, partitions: TopicPartitions) -> None:
        """Process the partitions that the client reports; they may show that a revocation or assignment has ended."""
        held = pairs(partitions)
        if self._giving_up is not None and not held & pairs(self._giving_up[0]):
            self.record_revoked()
        if self._assigned is not None and held >= pairs(self._assigned.partitions):
            self._begun()

    def record_revoked(self) -> None:
        """Record that the client reports the end of a revocation."""
        if self._giving_up is not None:
            (asked, since), self._giving_up = self._giving_up, None
            now = self._now()
            self.callbacks.revoked(self._emit(Callback.REVOKED, asked, since.ms, now.ms), now.since(since))

    def record_join(self, member_id: str, generation: int) -> None:
        """Record a successful JoinGroup: the consumer is in ``generation``."""
        self._joined = self._now()
        if self._joining is not None:
            self.events.waits["join_seconds"] = self._joined.since(self._joining)
        self.member_id, self.generation = member_id, generation

    def expect_assignment(self) -> None:
        """Record that the coordinator has just assigned partitions; `record_assigned` names the partitions later.

        Call it before the new ``generation`` is set.
        """
        self._promised, self._generation_before = self._now(), self.generation

    def record_assigned(self, partitions: TopicPartitions) -> None:
        """Set the partitions that the consumer has since now, or since `expect_assignment` if that was called."""
        self.settle()
        now, self._promised = self._promised or self._now(), None
        if self._joined is not None:
            self.events.waits["sync_seconds"] = now.since(self._joined)
        self._joining = self._joined = self._announced = None
        # Partitions that are still being given up remain in this state unless they are assigned again.
        leaving, since = self._giving_up or ({}, now)
        has = pairs(partitions)
        owned_before = pairs(self.owned) | (pairs(leaving) & has)
        self.owned, revoked = partitions, (pairs(leaving) | owned_before) - has
        self._giving_up = (topic_partitions(revoked), since) if revoked else None
        if not has - owned_before and not self.events.waits:
            self.callbacks.assigning(None)  # Java's clients call the callback even without partitions
            return  # no change
        event = self._event(Callback.ASSIGNED, topic_partitions(has - owned_before), now.ms, now.ms, self._join_reason)
        self._join_reason = None
        self.callbacks.assigning(event, self._now().since(now))
        if has - owned_before:
            self._assigned, self._assigned_at = event, now
        else:
            self._emit_assigned(event)

    def record_shared(self, partitions: TopicPartitions) -> None:
        """Set the partitions that a member of a share group has since `expect_assignment`.

        The member gave up its other partitions at that time, without a callback, in the generation before.
        """
        has, had = pairs(partitions), pairs(self.owned)
        if revoked := topic_partitions(had - has):
            self.settle()
            at_ms = (self._promised or self._now()).ms
            revoking = (Callback.REVOKED, revoked, at_ms, at_ms, None)
            self.emit(self.events.member(*revoking, self.member_id, self._generation_before))
            self.owned = topic_partitions(had & has)
        self.record_assigned(partitions)

    def record_epoch(self, epoch: int) -> None:
        """Record a new ``epoch`` in which the assignment did not change."""
        before, self.generation = self.generation, epoch
        if 0 <= before != epoch:
            now = self._now()
            self.callbacks.assigning(None)
            self._emit(Callback.ASSIGNED, {}, now.ms, now.ms)

    def record_fetch(self, partitions: set[tuple[str | None, int]]) -> None:
        """Record that the client fetches from these partitions; a topic is None if the frame has only its id."""
        new = pairs(self._assigned.partitions if self._assigned else {})
        if any(pair in new for pair in partitions) or {(None, number) for _, number in new} & partitions:
            self._begun()

    def settle(self) -> None:
        """Publish the assignment without waiting longer for the first fetch."""
        self._begun(at_ms=0)  # the time of the assignment

    def settle_late(self, seconds: float = FETCH_SECONDS_MAX) -> None:
        """Publish the assignment if the consumer has not fetched for ``seconds``."""
        if self._assigned_at is not None and self._now().since(self._assigned_at) > seconds:
            self.settle()

    def record_loss(self, reason: str) -> None:
        """Record that the consumer lost its membership: the coordinator refuses it, or another consumer replaced it."""
        self._leaving = None
        if lost := self._nothing_left():
            now_ms = self._now().ms
            self._emit(Callback.LOST, lost, now_ms, now_ms, reason)

    def record_leave_request(self, reason: str | None) -> None:
        """Record that the consumer asks to leave, with an optional ``reason`` (KIP-800)."""
        self._leaving = (self._now(), reason)

    def record_leave_refusal(self) -> None:
        """Record that the coordinator refused the request to leave."""
        self._leaving = None

    def record_leave(self) -> None:
        """Report that the consumer left, even if its request was never answered; do nothing if it sent no request."""
        if self._leaving is None:
            return
        (asked, reason), self._leaving = self._leaving, None
        self._emit(Callback.LEFT, self._nothing_left(), asked.ms, asked.ms, reason)

    def _nothing_left(self) -> TopicPartitions:
        """Reset the state of a consumer that is no longer a member; return what it owned or was giving up."""
        self.settle()
        self.callbacks.revoked(None)  # clients that close call the callback before they leave
        owned_before, self.owned = pairs(self.owned) | pairs(self._giving_up[0] if self._giving_up else {}), {}
        self._joining = self._joined = self._announced = self._giving_up = self._promised = None
        return topic_partitions(owned_before)

    def _begun(self, at_ms: int | None = None) -> None:
        """Publish the assignment that waits for the first fetch."""
        event, self._assigned = self._assigned, None
        if event is not None:
            at_ms = self._now().ms if at_ms is None else at_ms
            self._emit_assigned(replace(event, timestamp_ms=max(event.started_ms, at_ms)))

    def _emit_assigned(self, event: MemberEvent) -> None:
        self.callbacks.assigned(event)
        self.emit(event)

    def _emit(
        self, callback: Callback, partitions: TopicPartitions, started_ms: int, at_ms: int, reason: str | None = None
    ) -> MemberEvent:
        event = self._event(callback, partitions, started_ms, at_ms, reason)
        self.emit(event)
        return event

    def _event(
        self, callback: Callback, partitions: TopicPartitions, started_ms: int, at_ms: int, reason: str | None
    ) -> MemberEvent:
        return self.events.member(callback, partitions, started_ms, at_ms, reason, self.member_id, self.generation)

    def _now(self) -> _Moment:
        return _Moment(self.clock.now_ms(), self.clock.monotonic())
