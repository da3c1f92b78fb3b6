"""Replays recorded rebalances through a strategy: what it would have assigned, moved and stalled.

- ``recorded_history``: generation events as rebalances in order; ``move_counts``: what a rebalance moved.
- ``eligible_strategies``: decides which strategies can be replayed, and why others cannot.
- ``strategy_replay``: one strategy through a history, carrying its own assignment along.
- ``recorded_spread``: on how many hosts a recorded assignment put each topic.
- ``predicted_stalls``: the predicted stall of one rebalance.
- ``fidelity``: whether recorded decisions can be reproduced, by assignor (``implementations``).

The comparison of strategies and the recommendation are in ``advice``.
"""
