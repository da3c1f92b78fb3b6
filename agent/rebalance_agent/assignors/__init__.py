"""Assignors as pure functions: what every member asked for goes in, who owns what comes out.

No client, no clock, no state, no randomness that the input does not seed: the same code runs inside a consumer, in the
command line and in the what-if. How it fits together:

- ``roster``: a group made ready (order, subscriptions, settings, valid ownership), the same for every strategy.
- ``balance``: who gets how many decided on counts, with a proof that nothing is better; then the partitions picked.
- ``strategies``: one plan each, ``Roster -> Plan``; ``units``: those whose partitions stay together, with standbys.
- ``strategy``: a plan with its wire name, settings, user data and promise; ``strategy_registry`` finds it by name.
- ``cooperative_step``: what a cooperative form gives out in this round, and what only in the next.
- ``internal_topics``: what must be there before anyone is assigned; ``measure_quality``: judges any assignment.

How balance is found, and why it is exact, is told in ``docs/how-assignment-works.md``.
"""

from __future__ import annotations

from rebalance_agent.assignors.measure_quality import Judgement, judge, judgement
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.assignors.strategy_registry import STRATEGIES, strategy
from rebalance_agent.assignors.strategy_settings import Setting

__all__ = ["STRATEGIES", "Judgement", "Plan", "Roster", "Setting", "Strategy", "judge", "judgement", "strategy"]
