"""Patterns that appear only over several rebalances, or over time.

- ``costly_members``: members for which recent rebalances waited, and members that failed or keep leaving.
- ``recent_rebalances``: when the last rebalances completed.
- ``flapping``: members that leave and return repeatedly.
- ``rollouts``: finds deploys. ``current_rollout``: the running deploy. ``rollout_evidence``: rules that distinguish a
  deploy from failures. ``rollout_progress``: whether a deploy continues without failures.
- ``replacements``: pairs departed members with their successors; ``unpaired_members``: members without a counterpart
  yet.
- ``loads``: how evenly members share lag and produce rate; ``produce_rates``: how fast partitions grow.
- ``empty_groups``: groups that lost all their members, and partitions without an owner.
- ``group_stalls``: the periods in which a group was stalled, counted by length.
- ``copartition``: topics that are declared co-partitioned, and where the assignment breaks this.
"""
