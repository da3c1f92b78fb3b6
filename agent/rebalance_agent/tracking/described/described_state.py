"""The state of a group whose coordinator assigns, from descriptions alone: used if the offsets topic cannot be read.

Descriptions have exact epochs, members and assignments. Times are bounds between two polls.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rebalance_agent.model.episode import Evidence, Source
from rebalance_agent.model.epoch_groups import DescribedEpochs, Pending, PendingMember
from rebalance_agent.model.events import Event, MemberEvent
from rebalance_agent.model.generation_diff import diff_generations, owners
from rebalance_agent.model.group import GroupSnapshot, GroupState, GroupType, RebalanceProtocol
from rebalance_agent.tracking.completed_generation import Episode, Generation, subscribed_topics
from rebalance_agent.tracking.described.described_owners import DescribedOwners
from rebalance_agent.tracking.evidence.known_times import TimeBounds
from rebalance_agent.tracking.members.shown_members import ShownMembers
from rebalance_agent.tracking.memory.state_budget import described_bytes
from rebalance_agent.tracking.observations import DescribedGroup, GroupDescribed
from rebalance_agent.tracking.tracked_group import TrackedGroup
from rebalance_agent.tracking.tracker_context import TrackerContext
from rebalance_agent.tracking.views import GroupView, RunningRebalance

__all__ = ["ALONE_EPOCH_MAX", "OUTDATED_MS", "DescribedState"]

ALONE_EPOCH_MAX = 2
"""The highest epoch of a new group at which its only member has certainly always been the only one."""

OUTDATED_MS = 60_000
"""The age (ms) from which a description with epochs is replaced by descriptions without epochs."""


class DescribedState(TrackedGroup):
    """The state of one group. Times passed in are by the observer's clock.

    ``value_bytes``: the approximate memory of the last description. ``gone``: the group is no longer listed. No event
    reports this, since descriptions do not show when the group was deleted.
    """

    def __init__(
        self, value: DescribedGroup, context: TrackerContext, now_ms: int, predecessor: TrackedGroup | None = None
    ) -> None:
        """Start without a description; ``predecessor``: the group's state from members' reports alone, if any."""
        super().__init__(value.group, context, now_ms, predecessor)
        self.group_type = value.group_type
        self._value, self.value_bytes = value, 0
        self._epochs: DescribedEpochs | None = None
        self._asked_ms = self._answered_ms = now_ms
        self._started: TimeBounds | None = None
        self._targeted_ms: int | None = None
        self._missed = False
        self._owners = DescribedOwners()

    @property
    def known(self) -> bool:
        """Whether the group was described."""
        return self._epochs is not None

    @property
    def size_bytes(self) -> int:
        """The approximate memory that the state uses, in bytes."""
        return super().size_bytes + self.value_bytes

    @property
    def rebalancing(self) -> bool:
        """Always False: descriptions show the start of these rebalances, so ListGroups is not needed."""
        return False

    @property
    def unsettled(self) -> bool:
        """Whether descriptions of the group may still lead to events."""
        return self._episodes.unsettled or self._started is not None

    def wants(self, topics: set[str]) -> bool:
        """Whether a change of ``topics`` affects the group, because it subscribes to at least one of them."""
        return self.known and not topics.isdisjoint(subscribed_topics(self._snapshot()))

    def is_outdated(self, described: DescribedGroup, asked_ms: int) -> bool:
        """Whether ``described`` has no epochs and the last description with epochs is old."""
        return described.epochs is None and asked_ms - self._asked_ms > OUTDATED_MS

    def describe(self, described: GroupDescribed) -> Iterator[Event]:
        """Process a description with epochs; ignore one that was requested before the last description."""
        value, epochs = described.value, described.value.epochs
        if epochs is None or (self.known and described.at_ms < self._asked_ms):
            return
        if self.known and value == self._value:  # of most groups at most polls
            self._asked_ms, self._answered_ms = described.at_ms, described.answered_ms
            return
        before, since_ms = self._epochs, self._asked_ms if self.known else described.absent_ms
        if before is not None and epochs.epoch < before.epoch:  # the group was deleted and created again
            yield from self.settle(described.answered_ms)
            self.last, self._started, before, self._owners = None, None, None, DescribedOwners()
        if since_ms is not None and described.idle_ms is not None and self._started is None:
            since_ms = max(since_ms, described.idle_ms)  # earlier changes belong to a missed generation
        self._value, self.value_bytes = value, described_bytes(value)
        self._epochs, self.number = epochs, epochs.epoch
        self._asked_ms, self._answered_ms = described.at_ms, described.answered_ms
        self.timestamp_ms = described.answered_ms
        self._change_base_view()
        self._owners.update(epochs, described.at_ms if since_ms is None else since_ms, described.answered_ms)
        self._follow(before, epochs, since_ms)
        yield from self._check_reached(is_first=since_ms is None)
        self._count()

    def _follow(self, before: DescribedEpochs | None, epochs: DescribedEpochs, since_ms: int | None) -> None:
        """Note the start of a rebalance, its target assignment, and whether generations may have been missed."""
        if before is None or epochs.epoch > before.epoch:
            settled = self.last.number if self.last else 0
            self._missed = self._missed or since_ms is None or _may_have_completed(before, settled, epochs)
            if self._started is None and since_ms is not None:
                self._started = TimeBounds(since_ms, self._answered_ms, Evidence.LIST)
            self._targeted_ms = None
        if self._targeted_ms is None and epochs.target_epoch >= epochs.epoch:
            self._targeted_ms = self._answered_ms

    def _check_reached(self, *, is_first: bool) -> Iterator[Event]:
        """Complete the generation if all members reached the epoch; ``is_first``: the previous one is unknown."""
        if self._epochs is None or not self._epochs.reached(self._value.state):
            return
        last = self.last
        returned = last is not None and last.number == self.number and self._replaced(last.value)
        if last is not None and last.number == self.number and not returned:
            self._started = None
            return
        generation = self._complete(last, returned=returned)
        peopled = bool(generation.members) or bool(last and last.members)
        known = not self._missed
        self.last, self._started, self._targeted_ms, self._missed = generation, None, None, False
        self.history.empty_time.see(generation)
        if peopled and not is_first:
            yield from self._episodes.add(generation, Episode(last, known))

    def _complete(self, last: Generation | None, *, returned: bool) -> Generation:
        value, started = self._snapshot(), self._started
        handovers = self._owners.take(
            owners(last.value).keys() if last else (), started.earliest_ms if started else None, self._answered_ms
        )
        return Generation(
            value=value,
            timestamp_ms=self._answered_ms,
            seen_ms=self._answered_ms,
            protocol=RebalanceProtocol.COOPERATIVE,
            topics=self._sizes(value),
            start=None if returned else started,
            joined_ms=None if returned else self._targeted_ms,
            returned=returned,
            # Several members of a share group own a partition at the same time: descriptions do not show when a member
            # stopped.
            incomplete=self.group_type is GroupType.SHARE,
            group_type=self.group_type,
            handovers={} if self.group_type is GroupType.SHARE else handovers,
            source=Source.DESCRIBE,
            standby_hosts=_standby_hosts(value),
            outages=self._context.outages_until(self._answered_ms),
        )

    def _snapshot(self) -> GroupSnapshot:
        members = self._epochs.members if self._epochs else ()
        return GroupSnapshot(
            group=self.group,
            protocol_type="consumer",
            generation=self.number,
            protocol=self._value.assignor,
            leader=None,
            current_state_timestamp_ms=self._answered_ms,
            members=tuple(each.member for each in members),
        )

    def _replaced(self, last: GroupSnapshot) -> bool:
        """Whether static members returned under new ids, and nothing else changed."""
        diff = diff_generations(last, self._snapshot())
        return bool(diff.replaced) and not diff.joined and not diff.gone

    def resize(self, now_ms: int) -> None:
        """Process a change of the cluster's topics."""
        self._change_base_view()
        self._count(now_ms)

    def pass_time(self, now_ms: int) -> Iterator[Event]:
        """Do the work that is due by ``now_ms``."""
        showing = self._episodes.showing
        yield from self._episodes.pass_time(now_ms)
        if showing != self._episodes.showing:
            self.history.version += 1
        self._clean_up((each.member.member_id for each in (self._epochs.members if self._epochs else ())), now_ms)

    def restart(self, latest_ms: int, now_ms: int) -> Iterator[Event]:
        """Handle a clock that was set back (see `TrackedGroup`): the next description must not count as an old one."""
        self._asked_ms, self._started = min(self._asked_ms, now_ms), None
        yield from super().restart(latest_ms, now_ms)

    def view(self, *, judged: bool = True) -> GroupView | None:
        """Return the current view; None before the first description. ``judged``: as in `Tracker.view`."""
        return self._current_view(partial(self._build_view, judged=judged), judged=judged) if self.known else None

    def _take_report(self, _event: MemberEvent, now_ms: int, *, begins: bool) -> None:
        if begins:
            self._count(now_ms)

    def _count(self, now_ms: int | None = None) -> None:
        at_ms = self._answered_ms if now_ms is None else now_ms
        self._totals.set_partitions(sum(self._sizes(self._snapshot()).values()), at_ms)
        self._totals.set_stalled(0, at_ms)
        self.history.version += 1

    def _sizes(self, value: GroupSnapshot) -> dict[str, int]:
        return self._context.topics.sizes_in(subscribed_topics(value), value)

    def _build_view(self, *, judged: bool) -> GroupView:
        value, state = self._snapshot(), self._value.state
        now = Generation(
            value,
            self._answered_ms,
            self._answered_ms,
            RebalanceProtocol.COOPERATIVE,
            self._sizes(value),
            group_type=self.group_type,
            source=Source.DESCRIBE,
            standby_hosts=_standby_hosts(value),
        )
        base_view = self._build_base_view(lambda: now, lambda: ShownMembers(value.members), state, judged=judged)
        running = None
        if self._started is not None and value.members and state is not GroupState.EMPTY:
            running = RunningRebalance(self._started.earliest_ms, 0, pending=self._pending())
        return self.history.complete_view(base_view, state, running)

    def _pending(self) -> Pending | None:
        """Return the members that have not reached the target assignment; None while the newest epoch has none."""
        epochs = self._epochs
        if epochs is None or epochs.target_epoch < epochs.epoch:
            return None
        behind = (each.member for each in epochs.members if 0 <= each.epoch < epochs.epoch)
        return Pending.of(
            [PendingMember(each.member_id, each.instance_id, each.client_id, each.client_host, None) for each in behind]
        )


def _standby_hosts(value: GroupSnapshot) -> frozenset[str]:
    return frozenset(member.member_id for member in value.members if member.streams and member.streams.copies)


def _may_have_completed(before: DescribedEpochs | None, settled: int, now: DescribedEpochs) -> bool:
    """Whether members may have reached an epoch between two descriptions, other than ``settled`` and the newest.

    An epoch without a target assignment was never complete. An epoch was not complete either if a member of both
    descriptions has not reached it.
    """
    if before is None and _has_just_begun(now):
        return False
    first = max(settled + 1, before.epoch if before else 1)
    if first > min(now.epoch - 1, now.target_epoch):
        return False
    ids = {each.member.member_id for each in (before.members if before else ())}
    return not any(0 <= each.epoch < first for each in now.members if each.member.member_id in ids)


def _has_just_begun(now: DescribedEpochs) -> bool:
    """Whether the group is new and its only assignment so far is that of its newest epoch.

    From Kafka 4.3 on, a group begins with epoch 1 and no assignment, and its first member increases the epoch to 2
    (KAFKA-20268). In earlier versions, the first member creates epoch 1. Each member that joins or leaves creates a new
    epoch, so a single member at epoch 2 has always been the only one.
    """
    unassigned = now.target_epoch <= 1 and all(each.target == {} for each in now.members)
    return unassigned or (now.epoch <= ALONE_EPOCH_MAX and len(now.members) == 1)
