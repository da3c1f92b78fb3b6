"""Assignors as pure functions, which map the subscriptions of all members to the owner of each partition.

They use no client, clock or state, and randomness only if seeded by the input: the same code runs in a consumer, in the
command line and in the what-if.

- ``roster``: a group prepared for strategies (order, subscriptions, settings, valid ownership); ``subscribers``,
  ``ownership_index``, ``claims``: its steps; ``member_settings``: the members' values of settings;
  ``reordered_roster``: the same members in a different order.
- ``balance``: computes how many partitions each member gets, with a proof that no balance is better, and then which
  ones.
- ``broker``: models of the assignors of Kafka's brokers, which no member can run.
- ``locality``: which members are near a partition.
- ``strategies``: strategies of single partitions, one module each; ``units``: strategies that keep partitions together,
  with standby copies.
- ``strategy``: a plan with its name, settings, user data and promise; ``strategy_registry``: strategies by name, with
  those of other packages (``plugins``); ``strategy_settings``: their settings; ``replay_limits``: inputs of strategies
  that recorded events lack.
- ``hosts``: the rules for a member's host, and the number of hosts of each topic.
- ``cooperative_step``: divides a cooperative plan into this round's assignment and the follow-up's.
- ``internal_topics``: topics that must exist before the assignment; ``measure_quality``, ``assignment_facts``: measure
  any assignment.

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
