"""Patterns that show only over several rebalances, or over time.

- ``costly_members``: members that recent rebalances waited for, and members that failed or keep leaving.
- ``recent_rebalances``: when the last ones completed.
- ``flapping``: members that leave and return repeatedly.
- ``rollouts``: deploys; ``current_rollout``, ``rollout_evidence``, ``rollout_progress``: the one that continues, what
  distinguishes it from failures, and whether it continues without any.
- ``replacements``: which member replaced which; ``unpaired_members``: those that wait for their counterpart.
- ``loads``: skew of a group by lag and by rate; ``produce_rates``: growth of partitions.
- ``empty_groups``: groups that lost all their members, and partitions without an owner.
- ``group_stalls``: the times in which a group as a whole was stalled, by their length.
- ``copartition``: topics that are declared co-partitioned, and where the assignment breaks that.
"""
