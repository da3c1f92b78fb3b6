"""Measures lag and produce rate of followed partitions, from end offsets (one request per period) and tailed commits.

There is no request per group, unless transactions leave committed offsets in doubt (see `CommittedOffsets`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.repeated_poll import Poll
from rebalance_agent.cluster.topic_reader import TopicRecord
from rebalance_agent.errors import ClusterError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.polls.commits import CommittedOffsets
from rebalance_agent.polls.followed_partitions import FollowedPartitions
from rebalance_agent.tracking.lag.catch_up import CatchUps
from rebalance_agent.tracking.lag.end_offsets import EndOffsets
from rebalance_agent.tracking.lag.group_lag import NO_LAGS, GroupLag, GroupProgress, group_lag, topic_lags
from rebalance_agent.tracking.observations import LoadsSeen
from rebalance_agent.tracking.patterns.loads import GroupLoads
from rebalance_agent.tracking.patterns.produce_rates import ProduceRates
from rebalance_agent.tracking.views import GroupView

__all__ = ["ENDS_MAX", "FETCHES_MAX", "FOLLOWED_MAX", "LoadsPoll"]

FOLLOWED_MAX = 50_000
"""Maximum number of followed pairs of a group and a partition: 2,000 groups of 25 partitions, in about 40 MB (10 MB
more while all of them catch up)."""

ENDS_MAX = 20_000
"""Maximum number of partitions whose end offsets are requested per period: about 0.8 CPU-seconds, nearly all in the
client."""

FETCHES_MAX = 500
"""Maximum number of groups whose committed offsets are requested per period; each takes a coordinator about a
millisecond."""

READ_WAIT_S = 1.0
"""Longest wait, in seconds, for the tail to read the commits made before the period; it usually lags by 50 ms."""

DOUBT_AGAIN_S = 300.0
"""Seconds between requests for all committed offsets, which correct unforeseen errors."""

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class LoadsPoll:
    """Measures followed groups: whole groups, ordered by name, up to `FOLLOWED_MAX` partitions.

    It puts `LoadsSeen` for groups with members. ``lags``: group (with or without members) -> lag at the last
    measurement, if the group's committed offsets were certain then. This mapping is replaced, never changed, so any
    thread may read it. ``follows``: selects the groups to follow. ``views``: all current groups. ``tailing``: whether
    `on_records` gets every commit.
    """

    context: CollectorContext
    follows: Callable[[str], bool]
    views: Callable[[], Iterable[GroupView]]
    tailing: Callable[[], bool]

    def __post_init__(self) -> None:
        """Start without measurements."""
        self.lags: Mapping[str, GroupLag] = NO_LAGS
        self._topics: Mapping[str, int] = {}
        self._production = ProduceRates()
        self._ends = EndOffsets()
        self._progress: dict[str, GroupProgress] = {}
        self._catch_ups: dict[str, CatchUps] = {}
        self._left_out = 0
        self._doubted_at = self.context.clock.monotonic()
        self.commits = CommittedOffsets(self.follows, self.context.meters)
        self._followed = FollowedPartitions(self.context, self.follows)
        self.poll = Poll("loads", self._ask, self.context)

    def on_topics(self, partitions: Mapping[str, int]) -> None:
        """Store the partition counts of all topics: only existing partitions are queried. Called from any thread."""
        self._topics = partitions

    def on_records(self, records: Sequence[TopicRecord], positions: Mapping[int, int]) -> None:
        """Process ``records`` of the tail (see `CommittedOffsets.on_records`), before they are observed."""
        self.commits.on_records(records, positions)

    def _ask(self) -> None:
        owned, followed = self._choose()
        self.commits.follow(followed)
        now = self.context.clock.monotonic()
        # End offsets first: commits in between then make the lag smaller, but not negative.
        try:
            ends = self.context.cluster.ends(set().union(*followed.values()))
        except ClusterError:
            self.lags = NO_LAGS  # an old lag would look like a lag that does not change
            raise
        self._production.take(now, ends)
        self._ends.take(now, ends)
        measured: Callable[[str], bool] = self.commits.is_certain
        try:
            self._update_commits(now)
            measured = followed.__contains__
        finally:
            # A coordinator that does not answer must not affect the groups of other coordinators.
            loads = {group: self._loads(group, owned[group]) for group in followed if owned[group]}
            self.context.inbox.offer(LoadsSeen(self.context.clock.now_ms(), loads))
            self._progress = {group: self._progress.get(group) or GroupProgress() for group in followed}
            self._catch_ups = {group: self._catch_ups.get(group) or CatchUps() for group in followed}
            lags = {
                group: self._lag(now, group, owned[group], partitions)
                for group, partitions in followed.items()
                if measured(group)
            }
            self.lags = {group: lag for group, lag in lags.items() if lag}

    def _choose(self) -> tuple[dict[str, frozenset[Partition]], dict[str, frozenset[Partition]]]:
        """Return the owned partitions and all followed partitions, by group: whole groups, ordered by name."""
        all_read = self.tailing()  # read before the views
        owned, chosen = self._followed.choose(self.views(), self._topics, self.commits, all_read=all_read)
        followed: dict[str, frozenset[Partition]] = {}
        distinct, pairs_left, left_out = set[Partition](), FOLLOWED_MAX, 0
        for group, partitions in sorted(chosen.items()):
            if len(partitions) <= pairs_left and len(distinct) + len(partitions - distinct) <= ENDS_MAX:
                followed[group] = partitions
                distinct |= partitions
                pairs_left -= len(partitions)
            else:
                left_out += len(partitions)
        self.context.meters.loads_left_out(left_out)
        if left_out and not self._left_out:
            _log.warning(
                "lag and rate of %d partitions are not measured: at most %d pairs of a group and a partition, and %d "
                "partitions, are measured; make lag_groups match fewer groups",
                left_out,
                FOLLOWED_MAX,
                ENDS_MAX,
            )
        self._left_out = left_out
        return owned, followed

    def _update_commits(self, now: float) -> None:
        commits, cluster = self.commits, self.context.cluster
        if not self.tailing() or now - self._doubted_at >= DOUBT_AGAIN_S:
            self._doubted_at = now
            commits.doubt()
        if partitions := commits.to_judge():
            stable = cluster.end_offsets(OFFSETS_TOPIC, partitions, stable=True)
            ends = cluster.end_offsets(OFFSETS_TOPIC, partitions)
            commits.wait_read(ends, READ_WAIT_S)
            commits.judge(stable, ends)
        for group, offsets in cluster.committed(commits.doubtful(FETCHES_MAX)).items():
            commits.fetched(group, offsets)

    def _lag(
        self, now: float, group: str, owned: frozenset[Partition], partitions: frozenset[Partition]
    ) -> GroupLag | None:
        committed = self.commits.offsets(group)
        stuck = self._progress[group].take(now, owned, committed, self._ends)
        catch_up = self._catch_ups[group].take(now, self._followed.holders(group), committed, self._ends)
        rates = (self._production.rate(partition) for partition in partitions if partition in committed)
        return group_lag(topic_lags(partitions, committed, self._ends), rates, stuck, catch_up, has_owned=bool(owned))

    def _loads(self, group: str, partitions: Iterable[Partition]) -> GroupLoads:
        committed = self.commits.offsets(group)
        lag = {pair: self._production.lag(pair, committed.get(pair)) for pair in partitions}
        rate = {pair: self._production.rate(pair) for pair in partitions}
        return GroupLoads(_known_loads(lag) if committed else None, _known_loads(rate))


def _known_loads(loads: Mapping[Partition, float | None]) -> dict[Partition, float] | None:
    return {partition: load for partition, load in loads.items() if load is not None} or None
