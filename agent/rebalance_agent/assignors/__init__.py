"""Assignors as pure functions: what every member asked for goes in, who owns what comes out.

No client, no clock, no state, no randomness that the input does not seed: the same code runs inside a consumer, in the
command line and in the what-if. How it fits together:

- ``roster``: a group made ready (order, subscriptions, settings, valid ownership), the same for every strategy.
- ``ranges``, ``roundrobin``, ``weighted``, ``failover``: one plan each, ``Roster -> Plan``.
- ``shares``, ``flow``, ``placement``, ``dealing``: balance decided on counts, then the partitions picked.
- ``strategy``: a plan with its wire name, settings, user data and promise; ``registry`` finds it by name.
- ``quality``: judges any assignment, ours or another client's.
"""

from __future__ import annotations

from rebalance_agent.assignors.quality import judge
from rebalance_agent.assignors.registry import STRATEGIES, strategy
from rebalance_agent.assignors.settings import Setting
from rebalance_agent.assignors.strategy import Strategy

__all__ = ["STRATEGIES", "Setting", "Strategy", "judge", "strategy"]
