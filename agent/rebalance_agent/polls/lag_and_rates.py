"""Lag and rate of the partitions of the groups that are followed for it: ends by one question a period, commits heard.

No request per group, except where transactions leave a doubt about what was committed (see `CommittedOffsets`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.repeated_poll import Poll
from rebalance_agent.cluster.topic_reader import TopicRecord
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.partitions import pairs
from rebalance_agent.polls.commits import CommittedOffsets
from rebalance_agent.tracking.observations import CommitsSeen, LoadsSeen
from rebalance_agent.tracking.patterns.loads import GroupLoads
from rebalance_agent.tracking.patterns.produce_rates import ProduceRates
from rebalance_agent.tracking.views import GroupView

__all__ = ["FETCHES_MAX", "FOLLOWED_MAX", "LoadsPoll"]

FOLLOWED_MAX = 20_000
"""Partitions whose ends are asked for in one period: about 0.8 CPU-seconds, nearly all of it the client's."""

FETCHES_MAX = 500
"""Groups whose commits are asked for in one period, a millisecond of the coordinators' time each."""

READ_WAIT_S = 1.0
"""Longest wait until the tail has read what was committed when the period began: it is usually some 50 ms behind."""

DOUBT_AGAIN_S = 300.0
"""How often all commits are asked for anyhow: what may have been missed for a reason that nobody thought of."""

_log = logging.getLogger(__name__)


class LoadsPoll:
    """Puts `LoadsSeen` for the groups that ``follows`` names, as far as `FOLLOWED_MAX` goes: by name, whole groups."""

    def __init__(
        self,
        context: CollectorContext,
        follows: Callable[[str], bool],
        views: Callable[[], Iterable[GroupView]],
        offsets_topic: str,
        tailing: Callable[[], bool],
    ) -> None:
        """``views``: all groups now. ``tailing``: whether `CommittedOffsets.on_records` gets every commit."""
        self._context = context
        self._follows = follows
        self._views = views
        self._offsets_topic = offsets_topic
        self._tailing = tailing
        self._topics: Mapping[str, int] = {}
        self._production = ProduceRates()
        self._left_out = 0
        self._doubted_at = context.clock.monotonic()
        self.commits = CommittedOffsets(follows, context.meters)
        self.poll = Poll("loads", self._ask, context)

    def on_topics(self, partitions: Mapping[str, int]) -> None:
        """Partition counts were read: only what exists is asked about. Called from any thread."""
        self._topics = partitions

    def on_records(self, records: Sequence[TopicRecord], positions: Mapping[int, int]) -> None:
        """The tail read ``records`` (see `CommittedOffsets.on_records`); observations of these records come later."""
        self.commits.on_records(records, positions)
        if times := self.commits.times():
            self._context.inbox.offer(CommitsSeen(self._context.clock.now_ms(), times))

    def _ask(self) -> None:
        wanted = self._wanted()
        self.commits.follow(wanted)
        now = self._context.clock.monotonic()
        # Ends before commits: what is consumed in between makes a lag smaller, and never negative.
        ends = self._context.cluster.ends([each for some in wanted.values() for each in some])
        self._production.take(now, ends)
        try:
            self._update_commits(now)
        finally:
            # A coordinator that does not answer keeps nothing from the groups of the others.
            loads = {group: self._loads(group, some) for group, some in wanted.items()}
            self._context.inbox.offer(LoadsSeen(self._context.clock.now_ms(), loads))

    def _wanted(self) -> dict[str, frozenset[Partition]]:
        """The partitions that members of followed groups have; of share groups nobody has one to himself.

        Members may claim anything: a single name that no topic can have makes librdkafka's whole question fail.
        """
        topics = self._topics
        wanted: dict[str, frozenset[Partition]] = {}
        remaining, left_out = FOLLOWED_MAX, 0
        for view in sorted(self._views(), key=lambda view: view.group):
            if view.group_type is GroupType.SHARE or not view.members or not self._follows(view.group):
                continue
            claimed = set[Partition]().union(*(pairs(member.assigned or {}) for member in view.members))
            partitions = frozenset((topic, number) for topic, number in claimed if number < topics.get(topic, 0))
            if len(partitions) <= remaining:
                wanted[view.group] = partitions
                remaining -= len(partitions)
            else:
                left_out += len(partitions)
        self._context.meters.loads_left_out(left_out)
        if left_out and not self._left_out:
            _log.warning(
                "%d partitions are too many to follow their lag and rate, at most %d are: narrow lag_groups",
                left_out,
                FOLLOWED_MAX,
            )
        self._left_out = left_out
        return wanted

    def _update_commits(self, now: float) -> None:
        commits, cluster = self.commits, self._context.cluster
        if not self._tailing() or now - self._doubted_at >= DOUBT_AGAIN_S:
            self._doubted_at = now
            commits.doubt()
        if partitions := commits.to_judge():
            stable = cluster.end_offsets(self._offsets_topic, partitions, stable=True)
            ends = cluster.end_offsets(self._offsets_topic, partitions)
            commits.wait_read(ends, READ_WAIT_S)
            commits.judge(stable, ends)
        for group, offsets in cluster.committed(commits.doubtful(FETCHES_MAX)).items():
            commits.fetched(group, offsets)

    def _loads(self, group: str, partitions: Iterable[Partition]) -> GroupLoads:
        committed = self.commits.offsets(group)
        lag = {each: self._production.lag(each, committed.get(each)) for each in partitions}
        rate = {each: self._production.rate(each) for each in partitions}
        return GroupLoads(_known(lag) if committed else None, _known(rate))


def _known(loads: Mapping[Partition, float | None]) -> dict[Partition, float] | None:
    return {partition: load for partition, load in loads.items() if load is not None} or None
