"""Determines whether acts on seats had the intended effect, and what the acts avoided. Pure.

- ``handover_checks``: checks whether the group rebalanced because of a handover.
- ``joint_admissions``: checks whether newcomers that were admitted together caused only one rebalance.
- ``act_trust``: counts consecutive wrong acts.
- ``spared_stalls``: computes how much earlier the partitions of killed consumers became free.
"""
