"""What shows only over several rebalances, or over time.

- ``flapping``: members that leave and return again and again.
- ``rollouts``: deploys; ``replacements``: which member took whose place.
- ``loads``: skew by lag and by rate; ``produce_rates``: how fast partitions grow.
- ``copartition``: topics that are declared co-partitioned, and where they are not.
"""
