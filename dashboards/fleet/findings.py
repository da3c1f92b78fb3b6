"""Further problems of groups, for the last column of the table on the Fleet board."""

from __future__ import annotations

from dashboards.fleet.queries import BY_PARTITIONS, COMPLETED, RUNNING, SKEW, TIMEOUT
from dashboards.parts.goals import (
    ABORTED,
    ASSIGN_ERRORS,
    MARGIN,
    SHARES,
    STORM,
    STORM_MIN,
    STORM_PER_MEMBER,
    TIMEOUT_UNKNOWN,
)
from dashboards.parts.query import GROUP, count_in, gauge, times_in

__all__ = ["FINDINGS", "GRAVEST", "STORMINESS", "STUCK"]

STUCK = f"{RUNNING} - ({TIMEOUT} or 0 * {RUNNING} + {TIMEOUT_UNKNOWN})"
"""Seconds by which rebalances exceed their members' rebalance timeout; negative before the timeout."""

UNLESS_RETURNED = GROUP + ', trigger!="member_replaced"'
"""Label matchers of all rebalances except returns of static members."""

STORMINESS = (
    f"{count_in(COMPLETED, UNLESS_RETURNED, window=STORM)} "
    f"/ clamp_min({STORM_PER_MEMBER} * {gauge('kafka_rebalance_members', GROUP)}, {STORM_MIN}) "
    f"unless {gauge('kafka_rebalance_rollout_in_progress', GROUP)} == 1"
)
"""Rebalances divided by the number that counts as a storm; no value during a deploy."""


def _failed(reason: str) -> str:
    return times_in("kafka_rebalance_failed_total", f'{GROUP}, reason="{reason}"')


FINDINGS = {
    "stuck": f"{STUCK} > {MARGIN}",
    "no members": f"{gauge('kafka_rebalance_group_empty_seconds', GROUP)} > 0",
    "storm": f"({STORMINESS}) > 1",
    "failed": f"{_failed('aborted')} >= {ABORTED} or {_failed('assign_error')} >= {ASSIGN_ERRORS}",
    "too slow": f"{times_in('kafka_rebalance_members_expelled_total', GROUP)} > 0",
    "flapping": f"{gauge('kafka_rebalance_flapping_members', GROUP)} > 0",
    "uneven": f"{gauge(SKEW, BY_PARTITIONS)} >= {SHARES[1][0]}",
    "idle members": f"{gauge('kafka_rebalance_idle_members', GROUP)} > 0",
    "excess moves": f"{times_in('kafka_rebalance_partitions_moved_excess_total', GROUP)} > 0",
}
"""Finding -> its condition, which has a series for each group with the finding. The most serious come first."""

GRAVEST = (
    "topk by (cluster, consumergroup) (1, "
    + " or ".join(
        f'label_replace(0 * ({condition}) + {len(FINDINGS) - at}, "finding", "{finding}", "", "")'
        for at, (finding, condition) in enumerate(FINDINGS.items())
    )
    + ")"
)
"""The most serious finding of each group, as the label ``finding``."""
