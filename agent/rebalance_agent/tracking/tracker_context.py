"""The values that all groups of one tracker share."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.tracking.cluster_topics import ClusterTopics
from rebalance_agent.tracking.evidence.commits.commit_times import CommitTimes
from rebalance_agent.tracking.evidence.commits.last_commits import Commit
from rebalance_agent.tracking.evidence.coordinators import Coordinators, changed_since
from rebalance_agent.tracking.evidence.kept_reports import ReportBudget
from rebalance_agent.tracking.evidence.known_times import Outage
from rebalance_agent.tracking.evidence.poll_evidence import ClockOffset, Outages, PollEvidence
from rebalance_agent.tracking.lag.kept_deliveries import deliveries_budget
from rebalance_agent.tracking.memory.state_budget import UNBOUNDED, StateBudget
from rebalance_agent.tracking.patterns.copartition import Copartitioned
from rebalance_agent.tracking.patterns.group_stalls import GroupStallLimits

__all__ = ["TrackerContext", "no_group"]

BEFORE_MAX = 256
"""Maximum number of generations kept in ``generations_before``: more than one observation adds."""


def no_group(_group: str) -> bool:
    """Return False for every group: the default of filters by name."""
    return False


@dataclass(frozen=True, slots=True)
class TrackerContext:
    """The values that all groups share: the cluster's id and topics, the ListGroups polls, and the clock offset.

    ``settle_ms``: how long a closed episode waits for members' reports. ``copartitioned``: the declared co-partitioning
    of its groups. ``may_be_empty``: the groups that may have no members on purpose. ``stall_limits``: when a group as a
    whole is stalled. ``host_names``: what counts as a member's host. ``outages``: the brokers' outages.
    ``coordinators``: when the groups' coordinators changed. ``commits``: when partitions were committed.
    ``report_budget``: how many bytes of reports all groups together may still keep. ``deliveries_budget``: how many
    bytes of gateways' deliveries. ``state_budget``: the bytes of the groups' states, limited to about
    ``state_bytes_max``. ``generations_before``: see `Tracker`.
    """

    cluster_id: str
    settle_ms: int
    polls: PollEvidence
    offset: ClockOffset
    topics: ClusterTopics
    copartitioned: Copartitioned
    may_be_empty: Callable[[str], bool] = no_group
    stall_limits: GroupStallLimits = field(default_factory=GroupStallLimits)
    host_names: HostNames = field(default_factory=HostNames)
    state_bytes_max: int = UNBOUNDED
    outages: Outages = field(default_factory=Outages)
    coordinators: Coordinators = field(default_factory=Coordinators)
    commits: CommitTimes = field(default_factory=CommitTimes)
    report_budget: ReportBudget = field(default_factory=ReportBudget)
    deliveries_budget: ReportBudget = field(default_factory=deliveries_budget)
    state_budget: StateBudget = field(init=False)
    generations_before: deque[GenerationEvent] = field(default_factory=lambda: deque(maxlen=BEFORE_MAX))

    def __post_init__(self) -> None:
        """Create the budget of ``state_bytes_max`` for the groups' states."""
        object.__setattr__(self, "state_budget", StateBudget(self.commits.span_ms, self.state_bytes_max))

    def take_commits(self, commits: Mapping[bytes, Commit | None], read_ms: int) -> None:
        """Take offset commits that were read at ``read_ms`` (observer's clock); see `CommitsSeen`."""
        self.commits.update(commits)
        written_ms = min((commit[0] for commit in commits.values() if commit), default=None)
        if written_ms is not None and self.offset.ms is not None:
            self.commits.answers.take(written_ms, read_ms - self.offset.ms)

    def unreached_since(self, partition: int, at_ms: int) -> bool:
        """Return whether requests may not have reached the coordinator of this offsets topic partition after ``at_ms``.

        ``at_ms`` is by the coordinators' clock (epoch ms).
        """
        outage = self.outages.since(at_ms + (self.offset.ms or 0))
        return outage or changed_since(at_ms, self.coordinators.changes(partition))

    def outages_until(self, now_ms: int) -> tuple[Outage, ...]:
        """Return the recent outages of brokers known at ``now_ms`` (observer's clock), by the coordinators' clock.

        Periods in which brokers answered slowly for a long time are included.
        """
        offset_ms = self.offset.ms or 0
        return (*self.outages.spans(now_ms, offset_ms), *self.commits.answers.outages(now_ms - offset_ms))
