"""What seats would have done in a group's recorded past, at least: for ``gateway --explain``. Pure.

- ``past_seats``: which rebalances handovers would have spared.
- ``past_admissions``: which ones joint admission would have merged.
- ``past_changes``: the members that joined and left in a recorded rebalance.
"""
