"""One consumer's way through rebalances as its frames show it, told as member events with the evidence ``gateway``.

What a gateway cannot see are the client's callbacks. Their times are taken from the frames beside them; which, and how
far off that is, stands in ``docs/gateway.md``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rebalance_agent.clock import Clock
from rebalance_agent.instrumentation.assign_decision import AssignDecision
from rebalance_agent.instrumentation.event_builder import error_text
from rebalance_agent.instrumentation.heartbeat import PERIOD_SECONDS
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import AssignEvent, Callback, MemberEvent, process_event_id
from rebalance_agent.model.partitions import TopicPartitions, pairs, topic_partitions

__all__ = ["FETCH_SECONDS_MAX", "REASON_MAX", "Alive", "ClientMembership", "Emit"]

REASON_MAX = 1_000
"""Characters of a reason that is kept: clients write a sentence (KIP-800)."""

FETCH_SECONDS_MAX = 60.0
"""Wait for a first Fetch: the next heartbeat ends it in seconds, unless the consumer is gone without a word."""

Emit = Callable[[MemberEvent | AssignEvent], None]
"""Takes an event. Never blocks and never raises."""

Alive = Callable[[str], None]
"""Hears of a consumer, by the ``process`` of its events, that it lives though it has nothing to tell."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """By both clocks: wall-clock milliseconds for events, monotonic seconds for lengths."""

    ms: int
    seconds: float

    def since(self, other: _Moment) -> float:
        """Seconds between the two, to the microsecond."""
        return round(self.seconds - other.seconds, 6)


class ClientMembership:
    """What a consumer owns and how far its rebalance is. Times are those at which a method is called.

    ``owned`` and ``generation`` are what it was last given; ``generation`` -1 where that is not known.
    """

    def __init__(self, group: str, client_id: str, instance_id: str | None, clock: Clock, emit: Emit) -> None:
        """A consumer that nobody has seen before."""
        self.group = group
        self.client_id = client_id
        self.instance_id = instance_id
        self.member_id = ""
        self.generation = -1
        self.owned: TopicPartitions = {}
        self._clock = clock
        self._emit_event = emit
        self._process = uuid.uuid4().hex
        self._sequence = 0
        self._announced: _Moment | None = None
        self._joining: _Moment | None = None
        self._joined: _Moment | None = None
        self._join_reason: str | None = None
        self._leaving: tuple[_Moment, str | None] | None = None
        self._waits: dict[str, Any] = {}
        self._giving_up: tuple[TopicPartitions, _Moment] | None = None
        self._assigned: MemberEvent | None = None
        self._assigned_at: _Moment | None = None
        self._promised: _Moment | None = None
        self._rejected = 0
        self._beaten: _Moment | None = None

    def beat(self, alive: Alive) -> None:
        """A heartbeat of the consumer passed: it lives, which is told now and then."""
        now = self._now()
        if self._beaten is None or now.since(self._beaten) >= PERIOD_SECONDS:
            self._beaten = now
            alive(self._process)

    @property
    def fetch_awaited(self) -> bool:
        """Whether the consumer was given partitions and has not asked for any of their records yet."""
        return self._assigned is not None

    @property
    def rejoining(self) -> bool:
        """Whether a JoinGroup was sent, and the consumer has not been assigned anything since."""
        return self._joining is not None

    def announced(self) -> None:
        """The coordinator has told the consumer to rejoin."""
        if self._announced is None and self._joining is None:
            self._announced = self._now()

    def interrupted(self) -> None:
        """The coordinator has told the consumer to rejoin before it was given anything."""
        self._joining = None
        self.announced()

    def joining(self, held: TopicPartitions | None = None, reason: str | None = None) -> None:
        """JoinGroup was sent: all is given up but what is ``held`` (None: an eager consumer, which holds nothing).

        ``reason``: why the client says that it joins (KIP-800).
        """
        self.settle()
        self.left()  # its LeaveGroup was not answered yet
        if self._joining is not None:
            return  # it tries again
        now = self._joining = self._now()
        self._join_reason = reason
        if held and self.generation < 0 and not self.owned:
            self.owned = held  # it was in the group before anybody here saw it
        gone = pairs(self.owned) - pairs(held or {})
        self.released()
        if self._announced is not None:
            self._waits["stop_seconds"] = now.since(self._announced)
            self._announced = None
        if gone:
            self._tell(Callback.REVOKED, topic_partitions(gone), now.ms, now.ms)
        self.owned = topic_partitions(pairs(self.owned) - gone)

    def holds(self, partitions: TopicPartitions) -> None:
        """The client says by its frame what it has: what it was told to give up, or given, may be among it or not."""
        held = pairs(partitions)
        if self._giving_up is not None and not held & pairs(self._giving_up[0]):
            self.released()
        if self._assigned is not None and held >= pairs(self._assigned.partitions):
            self._begun()

    def released(self) -> None:
        """The client says by its frame that it has given up what it was told to."""
        if self._giving_up is not None:
            (asked, since), self._giving_up = self._giving_up, None
            self._tell(Callback.REVOKED, asked, since.ms, self._now().ms)

    def joined(self, member_id: str, generation: int) -> None:
        """JoinGroup was answered: the consumer is in ``generation``."""
        self._joined = self._now()
        if self._joining is not None:
            self._waits["join_seconds"] = self._joined.since(self._joining)
        self.member_id, self.generation = member_id, generation

    def promised(self) -> None:
        """The coordinator has given something just now; what it is will be known later."""
        self._promised = self._now()

    def given(self, partitions: TopicPartitions) -> None:
        """From now on, or since it was `promised`, the consumer owns ``partitions`` and nothing else."""
        self.settle()
        now, self._promised = self._promised or self._now(), None
        if self._joined is not None:
            self._waits["sync_seconds"] = now.since(self._joined)
        self._joining = self._joined = self._announced = None
        # What it was to give up, and has not yet, it is still to give up, unless it is given again.
        leaving, since = self._giving_up or ({}, now)
        has = pairs(partitions)
        had = pairs(self.owned) | (pairs(leaving) & has)
        self.owned, gone = partitions, (pairs(leaving) | had) - has
        self._giving_up = (topic_partitions(gone), since) if gone else None
        if not has - had and not self._waits:
            return  # nothing to tell
        event = self._event(Callback.ASSIGNED, topic_partitions(has - had), now.ms, now.ms, self._join_reason)
        self._join_reason = None
        if has - had:
            self._assigned, self._assigned_at = event, now
        else:
            self._emit_event(event)

    def advanced(self, epoch: int) -> None:
        """The coordinator says that the consumer is in ``epoch`` now, and with it gives nothing and takes nothing."""
        before, self.generation = self.generation, epoch
        if 0 <= before != epoch:
            now = self._now()
            self._tell(Callback.ASSIGNED, {}, now.ms, now.ms)

    def fetching(self, partitions: set[tuple[str | None, int]]) -> None:
        """The client asks for records of these; topics are None where the frame has only their ids."""
        new = pairs(self._assigned.partitions if self._assigned else {})
        if any(each in new for each in partitions) or {(None, number) for _, number in new} & partitions:
            self._begun()

    def settle(self) -> None:
        """Wait no longer for the first fetch."""
        self._begun(at_ms=0)  # told as the moment at which it was given

    def settle_late(self) -> None:
        """The same, if the fetch has not come for long."""
        if self._assigned_at is not None and self._now().since(self._assigned_at) > FETCH_SECONDS_MAX:
            self.settle()

    def lost(self, reason: str) -> None:
        """The coordinator does not know the consumer any more, or another took its place."""
        self._leaving = None
        if gone := self._nothing_left():
            now_ms = self._now().ms
            self._tell(Callback.LOST, gone, now_ms, now_ms, reason)

    def leaving(self, reason: str | None) -> None:
        """The consumer asks to leave, for a ``reason`` that it may say (KIP-800)."""
        self._leaving = (self._now(), reason)

    def kept(self) -> None:
        """The coordinator has not let it go."""
        self._leaving = None

    def left(self) -> None:
        """The coordinator has let it go, or will never say whether it did; nothing if it did not ask to leave."""
        if self._leaving is None:
            return
        (asked, reason), self._leaving = self._leaving, None
        self._tell(Callback.LEFT, self._nothing_left(), asked.ms, asked.ms, reason)

    def decided(
        self,
        assignor: str,
        generation: int,
        members: int,
        seconds: float,
        decision: AssignDecision | None = None,
        quality: AssignmentQuality | None = None,
        error: Exception | None = None,
    ) -> None:
        """Our assignor ran for ``generation``, which the consumer leads, or came to no result because of ``error``."""
        self._sequence += 1
        self._emit_event(
            AssignEvent(
                event_id=process_event_id(AssignEvent.KIND, self._process, self._sequence),
                group=self.group,
                timestamp_ms=self._now().ms,
                assignor=assignor,
                client_id=self.client_id,
                generation=generation,
                duration_seconds=seconds,
                members=members,
                partitions=decision.partitions if decision else 0,
                process=self._process,
                sequence=self._sequence,
                quality=quality,
                user_data_errors=decision.assignment.user_data_errors if decision else {},
                error=error_text(error),
            )
        )

    def commit_rejected(self, partitions: int) -> None:
        """The coordinator refused commits of so many partitions."""
        self._rejected += partitions

    def _nothing_left(self) -> TopicPartitions:
        """Of a member that is none any more: what it had, with what it was about to give up."""
        self.settle()
        had, self.owned = pairs(self.owned) | pairs(self._giving_up[0] if self._giving_up else {}), {}
        self._joining = self._joined = self._announced = self._giving_up = self._promised = None
        return topic_partitions(had)

    def _begun(self, at_ms: int | None = None) -> None:
        """The consumer has begun with what it was given."""
        event, self._assigned = self._assigned, None
        if event is not None:
            at_ms = self._now().ms if at_ms is None else at_ms
            self._emit_event(replace(event, timestamp_ms=max(event.started_ms, at_ms)))

    def _tell(
        self, callback: Callback, partitions: TopicPartitions, started_ms: int, at_ms: int, reason: str | None = None
    ) -> None:
        self._emit_event(self._event(callback, partitions, started_ms, at_ms, reason))

    def _event(
        self, callback: Callback, partitions: TopicPartitions, started_ms: int, at_ms: int, reason: str | None
    ) -> MemberEvent:
        self._sequence += 1
        waits, rejected, self._waits, self._rejected = self._waits, self._rejected, {}, 0
        return MemberEvent(
            event_id=process_event_id(MemberEvent.KIND, self._process, self._sequence),
            group=self.group,
            timestamp_ms=max(started_ms, at_ms),
            callback=callback,
            client_id=self.client_id,
            member_id=self.member_id,
            generation=self.generation,
            started_ms=started_ms,
            partitions=partitions,
            process=self._process,
            sequence=self._sequence,
            instance_id=self.instance_id,
            reason=reason[:REASON_MAX] if reason else None,
            evidence=Evidence.GATEWAY,
            rejected_commits=rejected or None,
            **waits,
        )

    def _now(self) -> _Moment:
        return _Moment(self._clock.now_ms(), self._clock.monotonic())
