"""The outcomes of acts about seats: whether they had the intended effect, and what they spared. Pure.

- ``handover_checks``: whether the group rebalanced because of a handover.
- ``joint_admissions``: whether newcomers that were admitted together caused one rebalance.
- ``act_trust``: the number of consecutive wrong acts.
- ``spared_stalls``: how much earlier the partitions of killed consumers became free.
"""
