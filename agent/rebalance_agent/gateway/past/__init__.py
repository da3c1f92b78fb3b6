"""Computes lower bounds on what seats would have avoided in a group's recorded past, for ``gateway --explain``. Pure.

- ``past_seats``: finds the rebalances that handovers would have avoided.
- ``past_admissions``: finds the rebalances that joint admission would have merged.
- ``past_changes``: finds the members that joined and left in a recorded rebalance.
"""
