"""Assignors as pure functions, which map the subscriptions of all members to the owner of each partition.

They use no client, clock or state, and their random numbers are seeded from the input. The same code therefore runs in
consumers, on the command line and in ``whatif``.

- ``roster``: prepares a group for strategies (order, subscriptions, settings, valid ownership) with ``subscribers``,
  ``ownership_index`` and ``claims``; ``member_settings``: reads the settings of the members; ``reordered_roster``: puts
  the members of a roster into a different order.
- ``balance``: computes how many partitions each member gets, with a proof that no balance is better, and then chooses
  the partitions.
- ``broker``: models of the assignors of Kafka's brokers, which no member can run.
- ``locality``: finds the members that are near a partition.
- ``strategies``: strategies that assign partitions one by one, one module each; ``units``: strategies that keep
  partitions together, and strategies with standby copies.
- ``strategy``: defines a strategy by its plan, name, settings, user data and promise; ``strategy_registry``: finds
  strategies by name, also in other packages (``plugins``); ``strategy_settings``: reads the settings of strategies;
  ``replay_limits``: names the inputs of strategies that recorded events lack.
- ``hosts``: derives a member's host, and counts the hosts of each topic.
- ``cooperative_step``: divides a cooperative plan into the assignments of this round and of the follow-up round.
- ``internal_topics``: describes topics that must exist before the assignment; ``measure_quality``,
  ``assignment_facts``: measure any assignment.

``docs/how-assignment-works.md`` explains how the balance is found, and why it is exact. Packages with their own
strategy (``docs/own-strategy.md``) import the names that are exported here.
"""

from __future__ import annotations

from rebalance_agent.assignors.balance.promise import Promise, by_count, by_weight
from rebalance_agent.assignors.measure_quality import Judgement, judge, judgement
from rebalance_agent.assignors.replay_limits import ReplayLimits
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.assignors.strategy_registry import (
    STRATEGIES,
    find_setting,
    find_strategy,
    known_settings,
    known_strategies,
    strategy,
)
from rebalance_agent.assignors.strategy_settings import Setting, decimal_number, whole_number

__all__ = [
    "STRATEGIES",
    "Judgement",
    "Plan",
    "Promise",
    "ReplayLimits",
    "Roster",
    "Setting",
    "Strategy",
    "by_count",
    "by_weight",
    "decimal_number",
    "find_setting",
    "find_strategy",
    "judge",
    "judgement",
    "known_settings",
    "known_strategies",
    "strategy",
    "whole_number",
]
