"""The common plan, promise and user data of strategies that assign units; strategies differ in units and hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rebalance_agent.assignors.balance.promise import Promise
from rebalance_agent.assignors.replay_limits import ReplayLimits
from rebalance_agent.assignors.roster import CopiesPlan, Plan, Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.assignors.strategy_settings import Setting
from rebalance_agent.assignors.units.standbys import NUM_STANDBYS
from rebalance_agent.assignors.units.units import UnitKind, plan_copies, plan_units
from rebalance_agent.groupprotocol.standby_user_data import (
    decode_standby_assignment,
    decode_standby_subscription,
    encode_standby_assignment,
    encode_standby_subscription,
)
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.subscription import AssignedCopies

__all__ = ["unit_strategy"]


def unit_strategy(
    name: str,
    summary: str,
    kinds: Callable[[Roster], list[UnitKind]],
    host_of: Callable[[Roster], Sequence[int]],
    *,
    state_factor: Setting[float],
    config: tuple[Setting[Any], ...],
    internal_topics: Callable[[Roster], Mapping[str, int]],
    replay_limits: ReplayLimits,
) -> Strategy:
    """Return the strategy that assigns the units of ``kinds``, with standbys on other hosts (``host_of`` by member).

    Units are balanced by kind, then over all kinds, and with the fewest moves. With standbys, the best balance waits
    until copies are built, within the limit ``state_factor``. The promise is the balance that the group finally
    reaches.
    """

    def plan(roster: Roster) -> Plan:
        # Without standbys, no member would build a copy for which a unit could wait.
        factor = roster.shared_by_all(state_factor) if roster.shared_by_all(NUM_STANDBYS) else 1.0
        return plan_units(roster, kinds(roster), host_of(roster), factor)

    def promise(roster: Roster) -> Promise:
        return _promise(roster, kinds(roster))

    def copies(roster: Roster, target: Plan, now: Plan) -> CopiesPlan:
        return plan_copies(roster, kinds(roster), host_of(roster), roster.shared_by_all(NUM_STANDBYS), target, now)

    return Strategy(
        name=name,
        protocol=RebalanceProtocol.EAGER,
        summary=summary,
        plan=plan,
        promise=promise,
        config=(NUM_STANDBYS, state_factor, *config),
        reader=decode_standby_subscription,
        writer=encode_standby_subscription,
        copies=copies,
        answer=encode_standby_assignment,
        copies_in=_copies_in,
        internal_topics=internal_topics,
        cooperative_form=True,
        replay_limits=replay_limits,
    )


def _copies_in(user_data: bytes) -> AssignedCopies:
    _, copies = decode_standby_assignment(user_data)
    return copies


def _promise(roster: Roster, kinds: Sequence[UnitKind]) -> Promise:
    """Return the maximum number of partitions of each member over all assignments that are balanced in units.

    Units have different numbers of partitions, so a promise in partitions cannot state a balance in units exactly.
    Every balanced assignment keeps this promise, and most assignments that keep it are balanced. The promise does not
    depend on ownership.
    """
    partitions = roster.partitions
    sure = [0] * len(roster.members)
    units = [0] * len(roster.members)
    extras: list[list[int]] = [[] for _ in roster.members]
    for kind in kinds:
        floor, rest = divmod(kind.units, len(kind.members))
        # If topics' counts differ, lower partition numbers exist in more topics: the first units have the most
        # partitions.
        load = sum(min(floor, partitions[topic]) for topic in kind.topics)
        weight = sum(floor < partitions[topic] for topic in kind.topics)
        for member in kind.members:
            sure[member] += load
            units[member] += floor
            if rest:
                extras[member].append(weight)
    total, sharers = sum(kind.units for kind in kinds), len(set().union(*(kind.members for kind in kinds))) or 1
    ceilings = []
    for member, weights in enumerate(extras):
        # With equal subscriptions, the sum over all kinds is rounded up once; otherwise each kind is rounded up.
        extra_units = -(-total // sharers) - units[member] if roster.uniform() else len(weights)
        ceilings.append(sure[member] + sum(sorted(weights, reverse=True)[: max(extra_units, 0)]))
    return Promise.at_most(ceilings)
