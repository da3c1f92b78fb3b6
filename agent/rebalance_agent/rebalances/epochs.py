"""The state machine of one consumer, share or streams group: its coordinator assigns, and records every step.

A rebalance runs from the record of a new group epoch to the record with which the last member has reached it. An epoch
that all have reached is to all that follows what a generation is in a classic group.
"""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_agent.model.diff import diff_generations
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.epochs import CurrentAssignment, GroupEpoch, TargetEpoch
from rebalance_agent.model.events import Event, MemberEvent
from rebalance_agent.model.group import ClassicGroup, GroupState, GroupType, RebalanceProtocol
from rebalance_agent.rebalances.episodes import REVISE_MAX_MS
from rebalance_agent.rebalances.following import Following
from rebalance_agent.rebalances.generations import Episode, Generation, Handover, Window, subscribed_topics
from rebalance_agent.rebalances.handovers import Handovers
from rebalance_agent.rebalances.observations import EpochRecord
from rebalance_agent.rebalances.portrait import draw
from rebalance_agent.rebalances.roll import Roll
from rebalance_agent.rebalances.surroundings import Surroundings
from rebalance_agent.rebalances.views import GroupView, RunningRebalance

__all__ = ["EpochState"]


class EpochState(Following):
    """One group whose coordinator assigns. Times handed in are the observer's."""

    def __init__(self, group: str, group_type: GroupType, around: Surroundings, now_ms: int) -> None:
        """Begin without any record; until the group is known as a whole there is no view."""
        super().__init__(group, around, now_ms)
        self.group_type = group_type
        self._roll = Roll()
        self._handovers = Handovers()
        self._whole = False
        self._new = False
        self._last: Generation | None = None
        self._started_ms: int | None = None
        self._assigned_ms: int | None = None
        self._seen_ms = now_ms
        self._timestamp_ms = 0
        self._view: GroupView | None = None

    @property
    def known(self) -> bool:
        """Whether the group is there and known as a whole."""
        return self._whole and self._roll.epoch is not None

    @property
    def gone(self) -> bool:
        """Whether the group was deleted, and nothing is left of it."""
        return self._roll.epoch is None and not self._roll.members

    @property
    def rebalancing(self) -> bool:
        """Always False: no poll is needed to see these rebalances begin and end."""
        return False

    @property
    def due_ms(self) -> int:
        """When `pass_time` has something to do, at the latest."""
        due_ms = self._episodes.due_ms
        return self.forget_ms if due_ms is None else min(due_ms, self.forget_ms)

    def wants(self, topics: set[str]) -> bool:
        """Whether a member subscribes to one of these topics, or has partitions of a topic that had no name yet."""
        return not topics.isdisjoint(self._roll.topics() | subscribed_topics(self._snapshot()))

    def record(self, record: EpochRecord) -> Iterator[Event]:
        """A record of this group."""
        old = self._roll.current(record.subject) if record.kind is CurrentAssignment else None
        epoch = self._roll.epoch
        if not self._roll.take(record):
            return
        self._seen_ms, self._timestamp_ms = record.seen_ms, max(self._timestamp_ms, record.timestamp_ms)
        if record.kind is GroupEpoch:
            yield from self._epoch(epoch, record)
        elif record.kind is TargetEpoch:
            self._assigned_ms = record.timestamp_ms
        elif record.kind is CurrentAssignment and record.live:
            new = record.value if isinstance(record.value, CurrentAssignment) else None
            self._handovers.see(record.subject, old, new, record.timestamp_ms)
        yield from self._look(record.seen_ms, live=record.live)

    def complete(self, now_ms: int) -> None:
        """All records that the group had have been read."""
        self._whole = True
        for _ in self._look(now_ms, live=False):
            pass  # what was before is where it starts from; nothing is said of it

    def report(self, event: MemberEvent, now_ms: int) -> None:
        """A member said something of itself."""
        if self._log.add(event, now_ms):
            self._episodes.report(now_ms)
            if self._ledger.expect_reports():
                self._changed(now_ms)

    def resize(self, now_ms: int) -> None:
        """Topics that it subscribes to came, went, grew, or were named."""
        self._changed(now_ms)

    def pass_time(self, now_ms: int) -> Iterator[Event]:
        """Do what is due."""
        shown = self._episodes.shown
        yield from self._episodes.pass_time(now_ms)
        if shown is not self._episodes.shown:
            self._changed(now_ms)
        if now_ms >= self.forget_ms:
            self._ledger.advance(now_ms)
            self._log.keep(self._roll.members, now_ms - REVISE_MAX_MS)
            self._roll.keep(self._timestamp_ms - REVISE_MAX_MS)

    def view(self) -> GroupView | None:
        """The group now; None while it is not known."""
        if not self.known:
            return None
        if self._view is None or self._view.version != self.version:
            self._view = self._draw()
        return self._view

    def _epoch(self, before: int | None, record: EpochRecord) -> Iterator[Event]:
        if not isinstance(record.value, GroupEpoch):
            if record.live and self._whole and before is not None:
                yield from self._deleted(record.timestamp_ms, record.seen_ms, before)
            self._last = self._started_ms = None
            return
        # The first epoch of a group that is created under our eyes.
        self._new = self._new or (record.live and self._whole and before is None)
        if record.live and self._started_ms is None:
            self._started_ms = record.timestamp_ms

    def _look(self, now_ms: int, *, live: bool) -> Iterator[Event]:
        """After any record: see whether the newest epoch has been reached."""
        epoch = self._roll.epoch
        if not self._whole or epoch is None:
            return
        last = self._last
        if self._roll.reached():
            returned = last is not None and last.number == epoch and self._replaced(last.value)
            if last is None or last.number != epoch or returned:
                yield from self._reach(now_ms, live=live, returned=returned)
        self._changed(now_ms)

    def _replaced(self, last: ClassicGroup) -> bool:
        """Whether static members came back under new ids, and nothing else changed."""
        diff = diff_generations(last, self._snapshot())
        return bool(diff.replaced) and not diff.joined and not diff.gone

    def _reach(self, now_ms: int, *, live: bool, returned: bool) -> Iterator[Event]:
        before, value = self._last, self._snapshot()
        ways, took = self._handovers.take()
        started_ms = self._started_ms
        assigned_ms = self._assigned_ms if value.members else None
        generation = Generation(
            value=value,
            timestamp_ms=self._timestamp_ms,
            seen_ms=now_ms,
            protocol=RebalanceProtocol.COOPERATIVE,
            topics=self._sizes(value),
            start=None if started_ms is None else Window(started_ms, started_ms, Evidence.RECORD),
            joined_ms=assigned_ms if assigned_ms is not None and started_ms is not None else None,
            returned=returned,
            group_type=self.group_type,
            handovers=self._by_name(ways),
            revoking_ms=took,
        )
        self._last, self._started_ms, self._assigned_ms = generation, None, None
        peopled = bool(value.members or (before and before.members))
        if live and peopled and (before is not None or self._new):
            yield from self._episodes.add(generation, Episode(before, known=True))

    def _by_name(self, ways: dict[tuple[str, int], Handover]) -> dict[tuple[str, int], Handover]:
        named = {}
        for (key, number), way in ways.items():
            for topic, numbers in self._roll.named({key: (number,)}, self._around.topics).items():
                named.update({(topic, each): way for each in numbers})
        return named

    def _snapshot(self) -> ClassicGroup:
        return self._roll.snapshot(self.group, self._around.topics, self._timestamp_ms)

    def _sizes(self, value: ClassicGroup) -> dict[str, int]:
        return self._around.topics.sizes_in(subscribed_topics(value), value)

    @property
    def _stalled(self) -> int:
        return self._roll.waiting() if self._started_ms is not None else 0

    def _changed(self, now_ms: int) -> None:
        """The view has changed, and with it perhaps what is served and what stands still."""
        self._portrait = None
        members = bool(self._roll.members)
        partitions = sum(self._around.topics.sizes(self._roll.topics()).values()) if members else 0
        self._ledger.set_partitions(partitions, now_ms)
        self._ledger.set_stalled(self._stalled, now_ms)
        self.version += 1

    def _state(self) -> GroupState:
        if not self._roll.members:
            return GroupState.EMPTY
        if self.group_type is GroupType.SHARE or self._roll.reached():
            return GroupState.STABLE
        behind = self._roll.target_epoch < (self._roll.epoch or 0)
        return GroupState.ASSIGNING if behind else GroupState.RECONCILING

    def _draw(self) -> GroupView:
        state = self._state()
        if self._portrait is None:
            value = self._snapshot()
            now = Generation(
                value,
                self._timestamp_ms,
                self._seen_ms,
                RebalanceProtocol.COOPERATIVE,
                self._sizes(value),
                group_type=self.group_type,
            )
            self._portrait = draw(now, state, self.version, self.first_seen_ms, sizes_known=self._around.topics.known)
        started_ms = self._started_ms
        running = None if started_ms is None or not self._roll.members else RunningRebalance(started_ms, self._stalled)
        return self._finish(self._portrait, state, running)
