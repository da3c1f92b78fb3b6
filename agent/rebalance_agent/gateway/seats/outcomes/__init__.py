"""What became of acts about seats: whether they did what they promise, and what they spared. Pure.

- ``handover_checks``: whether the group rebalanced for a handover.
- ``spared_stalls``: how much earlier partitions of killed consumers were free.
"""
