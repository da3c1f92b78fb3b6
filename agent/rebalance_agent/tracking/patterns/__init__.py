"""Patterns that appear only over several rebalances, or over time.

- ``costly_members``: members for which recent rebalances waited, and members that failed or keep leaving.
- ``recent_rebalances``: when the last rebalances completed.
- ``flapping``: members that leave and return repeatedly.
- ``rollouts``: deploys; ``current_rollout``: the running one; ``rollout_evidence``: rules that distinguish it from
  failures; ``rollout_progress``: whether it continues without failures.
- ``replacements``: which member replaced which; ``unpaired_members``: those that wait for their counterpart.
- ``loads``: skew of a group by lag and by rate; ``produce_rates``: growth of partitions.
- ``empty_groups``: groups that lost all their members, and partitions without an owner.
- ``group_stalls``: the periods in which a group as a whole was stalled, by their length.
- ``copartition``: topics that are declared co-partitioned, and where the assignment breaks this.
"""
