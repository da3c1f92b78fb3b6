"""The outcomes of acts about seats: whether they kept their promise, and what they spared. Pure.

- ``handover_checks``: whether the group rebalanced for a handover.
- ``joint_admissions``: whether newcomers that were admitted together caused one rebalance.
- ``act_trust``: how many acts were wrong in a row.
- ``spared_stalls``: how much earlier partitions of killed consumers were free.
"""
