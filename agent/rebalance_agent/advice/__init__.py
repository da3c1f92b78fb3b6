"""Replays recorded rebalances through other strategies, predicts their stalls, and recommends one. Pure.

Everything works on one group's recorded events, without a clock or a client:

- ``replay``: replays a recorded history through one strategy, predicts its stalls, and checks whether records can be
  reproduced.
- ``restarts``: finds the rebalances that static membership avoids.
- ``outcomes``: computes all of these results for every strategy, as ``figures`` that can be added over the parts of a
  long history. ``slow_members``: finds the member for which the others waited.
- ``client_kinds``: derives which client libraries the members may use, and which assignors these libraries can run.
- ``migration``: decides whether a group can change to the consumer protocol (KIP-848).
- ``recommendation``: decides what to recommend, if a change is ``worth`` the effort; ``recommendation_text``: writes
  the sentences of the recommendation, with the ``change_steps`` for the clients; ``group_advice``: returns these
  sentences for `explain` and the page.

`explain`, the page, `whatif` and the pipeline call the same functions. ``docs/whatif.md`` states their limits.
"""

from __future__ import annotations

from rebalance_agent.advice.figures import Figures, Replayed, StrategyOutcome, WhatIf, merged
from rebalance_agent.advice.group_advice import advise
from rebalance_agent.advice.outcomes import replay, what_if
from rebalance_agent.advice.recommendation import Recommendation, recommend
from rebalance_agent.advice.replay.eligible_strategies import ReplaySettings
from rebalance_agent.advice.replay.fidelity import Fidelity, FidelityLine, fidelity
from rebalance_agent.advice.replay.implementations import instrumented_generations
from rebalance_agent.advice.replay.predicted_stalls import predict_stall
from rebalance_agent.advice.replay.recorded_history import RecordedHistory, history_of

__all__ = [
    "Fidelity",
    "FidelityLine",
    "Figures",
    "Recommendation",
    "RecordedHistory",
    "ReplaySettings",
    "Replayed",
    "StrategyOutcome",
    "WhatIf",
    "advise",
    "fidelity",
    "history_of",
    "instrumented_generations",
    "merged",
    "predict_stall",
    "recommend",
    "replay",
    "what_if",
]
