"""Counts the hosts on which a recorded assignment put the partitions of each topic."""

from __future__ import annotations

from rebalance_agent.advice.replay.eligible_strategies import library_strategy
from rebalance_agent.advice.replay.recorded_history import RecordedRebalance
from rebalance_agent.assignors.balance.promise import by_count
from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.assignors.hosts.topic_hosts import HostSpread, host_spread
from rebalance_agent.assignors.measure_quality import balance_of
from rebalance_agent.errors import AssignmentError
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.partitions import count_partitions

__all__ = ["hosts_of", "recorded_spread"]


def hosts_of(rebalance: RecordedRebalance, names: HostNames) -> dict[str, str]:
    """Return the host of each member at the end of the rebalance, by member id."""
    rule = names.of(rebalance.closing.group)
    return {
        member.member_id: rule.name(member.client_id, member.host, member.where) for member in rebalance.closing.members
    }


def recorded_spread(rebalance: RecordedRebalance, names: HostNames) -> HostSpread | None:
    """Return the spread of the assignment at the end of the rebalance, measured as in the tracker.

    Return None if no topic could be on several hosts, or if members share the records of a partition.
    """
    closing, hosts = rebalance.closing, hosts_of(rebalance, names)
    if closing.group_type is GroupType.SHARE or len(set(hosts.values())) < 2:  # noqa: PLR2004 - one host
        return None
    strategy, roster = library_strategy(closing.assignor), rebalance.roster
    promised = strategy.promise if strategy else by_count
    if strategy is not None and promised is not by_count:
        try:
            roster = strategy.roster(rebalance.subscription)  # with user data
        except AssignmentError:
            return None
    assigned = {member.member_id: member.assigned for member in closing.members}
    given = [assigned[member.member_id] for member in roster.members]
    targets = balance_of(roster, promised(roster), list(map(count_partitions, given)), 0, plain=True).targets
    return host_spread(roster, given, targets, [hosts[member.member_id] for member in roster.members])
