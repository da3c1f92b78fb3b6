"""The advice for one group as text: the sentences of its recommendation, if it recommends a change."""

from __future__ import annotations

from rebalance_agent.advice.client_kinds import clients_behind_gateways, possible_clients, usable
from rebalance_agent.advice.outcomes import what_if
from rebalance_agent.advice.recommendation import keeps_purpose, recommend
from rebalance_agent.advice.replay.eligible_strategies import SIZE_MAX, ReplaySettings
from rebalance_agent.advice.replay.recorded_history import RecordedHistory
from rebalance_agent.assignors import known_strategies
from rebalance_agent.assignors.hosts.host_names import HostNames
from rebalance_agent.model.group import GroupType

__all__ = ["TOO_LARGE", "advise"]

TOO_LARGE = "This group is too large to compare assignors here. To compare them, run rebalance-agent whatif."
"""The text that replaces advice if a history is larger than the caller allows."""


def advise(history: RecordedHistory, size_max: int = SIZE_MAX, hosts: HostNames | None = None) -> str:
    """Return the sentences of `recommend` for the whole `what_if`; empty if it recommends no change.

    Only strategies that can be recommended are replayed. ``size_max``: the maximum number of members and partitions in
    a replay; for a larger history, return `TOO_LARGE`. ``hosts``: the rule that derives a member's host.
    """
    if not history.decided:
        return ""
    names = _candidates(history)
    if names and history.size > size_max:
        return TOO_LARGE
    recommendation = recommend(what_if(history, names, ReplaySettings(hosts=hosts or HostNames())))
    return recommendation.sentence if recommendation.advises else ""


def _candidates(history: RecordedHistory) -> list[str]:
    if history.group_type is not GroupType.CLASSIC:
        return list(known_strategies())  # all strategies are refused, and the sentence gives the reason
    last = history.decided[-1].closing
    clients, behind = possible_clients(last, history.clients), clients_behind_gateways(last, history.clients)
    return [
        name
        for name in known_strategies()
        if keeps_purpose(name, history.assignor) and usable(clients, history.assignor, name, behind)
    ]
