"""Lag of groups, from committed and end offsets, and deliveries of share groups.

- ``end_offsets``: when end offsets were reached; ``group_lag``: lag in offsets and seconds, and stuck partitions.
- ``catch_up``: partitions that moved and have not yet caught up with the records appended before the move.
- ``kept_deliveries``: the deliveries of a share group, from gateways' reports.
"""
