"""Replays recorded rebalances through a strategy: what it would have assigned, moved and stalled.

- ``recorded_history``: groups generation events into rebalances; ``move_counts``: counts the moves of a rebalance;
  ``reported_clients``: reads the members' client libraries from their reports.
- ``eligible_strategies``: decides which strategies can be replayed, and gives the reason if one cannot.
- ``strategy_replay``: replays a history through one strategy; each rebalance starts from the strategy's last
  assignment.
- ``recorded_spread``: counts the hosts on which a recorded assignment put each topic.
- ``predicted_stalls``: predicts the stall of one rebalance.
- ``fidelity``: checks whether replays reproduce recorded decisions; ``implementations``: derives which implementation
  of an assignor decided.

The comparison of strategies and the recommendation are in ``advice``.
"""
