"""What would have been better: histories replayed through other strategies, stalls predicted, recommendations. Pure.

How it fits together, all over one group's recorded events, with no clock, client or engine:

- ``history``: generation events as rebalances in order; ``handovers``: what one rebalance did to partitions.
- ``serving``: which strategies could have been used at all, and why not the others.
- ``carrying``: one strategy through a history, its own assignment carried along.
- ``stalls``: what the coordinator's model comes to for one rebalance; ``restarts``: what static membership avoids.
- ``outcomes``: all of these for all strategies, in ``figures`` that add up over the parts of a long history.
- ``fidelity``: whether recorded decisions can be repeated, by whose assignor it was (``implementations``).
- ``recommending``: one sentence.

The command line and the pipeline call the same functions. What it can know and what not: ``docs/whatif.md``.
"""

from __future__ import annotations

from rebalance_agent.advice.eligible_strategies import ReplaySettings
from rebalance_agent.advice.fidelity import Fidelity, FidelityLine, fidelity
from rebalance_agent.advice.figures import Figures, Replayed, StrategyOutcome, WhatIf, merged
from rebalance_agent.advice.implementations import instrumented_generations
from rebalance_agent.advice.outcomes import replay, what_if
from rebalance_agent.advice.predicted_stalls import predict_stall
from rebalance_agent.advice.recommendation import Recommendation, recommend
from rebalance_agent.advice.recorded_history import RecordedHistory, history_of

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
    "fidelity",
    "history_of",
    "instrumented_generations",
    "merged",
    "predict_stall",
    "recommend",
    "replay",
    "what_if",
]
