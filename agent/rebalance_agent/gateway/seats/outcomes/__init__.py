"""The outcomes of acts about seats: whether they kept their promise, and what they spared. Pure.

- ``handover_checks``: whether the group rebalanced for a handover.
- ``spared_stalls``: how much earlier partitions of killed consumers were free.
"""
