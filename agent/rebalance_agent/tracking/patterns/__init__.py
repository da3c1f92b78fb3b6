"""Patterns that show only over several rebalances, or over time.

- ``flapping``: members that leave and return repeatedly.
- ``rollouts``: deploys; ``replacements``: which member replaced which.
- ``loads``: skew of a group by lag and by rate; ``produce_rates``: growth of partitions.
- ``end_offsets``: when end offsets were reached; ``group_lag``: lag in offsets and seconds, and stuck partitions.
- ``empty_groups``: groups that lost all their members, and partitions without an owner.
- ``copartition``: topics that are declared co-partitioned, and where the assignment breaks that.
"""
