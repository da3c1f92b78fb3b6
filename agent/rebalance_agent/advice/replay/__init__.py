"""Recorded rebalances replayed through a strategy: what it would have assigned, moved and stalled.

- ``recorded_history``: generation events as rebalances in order; ``move_counts``: what a rebalance moved.
- ``eligible_strategies``: which strategies can be replayed, and why the others cannot.
- ``strategy_replay``: one strategy through a history, carrying its own assignment along.
- ``recorded_spread``: on how many hosts a recorded assignment put each topic.
- ``predicted_stalls``: the predicted stall of one rebalance.
- ``fidelity``: whether recorded decisions can be reproduced, by assignor (``implementations``).

Not here: the comparison of strategies, and what is recommended (``advice``).
"""
