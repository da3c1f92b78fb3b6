"""Computes the outcome of every strategy for a history, and the outcome of the recorded decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from rebalance_agent.advice.client_kinds import clients_behind_gateways, possible_clients
from rebalance_agent.advice.figures import Figures, Replayed, StrategyOutcome, WhatIf, added
from rebalance_agent.advice.replay.eligible_strategies import ReplaySettings, family, library_strategy, refusal
from rebalance_agent.advice.replay.move_counts import Assignment, count_moves
from rebalance_agent.advice.replay.predicted_stalls import Behaviour, behaviour_of, predict_stall
from rebalance_agent.advice.replay.recorded_history import RecordedHistory, owned_by, since_last_assignor
from rebalance_agent.advice.replay.recorded_spread import recorded_spread
from rebalance_agent.advice.replay.strategy_replay import ReplayedRebalance, replay_rebalances, spread_anew
from rebalance_agent.advice.restarts import AvoidableRebalances, avoidable
from rebalance_agent.advice.slow_members import slow_member
from rebalance_agent.assignors import Strategy, find_strategy, known_strategies, strategy
from rebalance_agent.assignors.assignment_facts import copartition_breaks, owners_of
from rebalance_agent.assignors.hosts.topic_hosts import HostSpread
from rebalance_agent.errors import AssignmentError, StrategyFailedError
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.model.partitions import count_partitions

__all__ = ["REFUSAL_CHARACTERS_MAX", "replay", "replayed_line", "what_if"]

REFUSAL_CHARACTERS_MAX = 1_000
"""Maximum number of characters kept of an error of another package's strategy, which may repeat any name of the
group."""


def replay(history: RecordedHistory, chosen: Strategy, settings: ReplaySettings | None = None) -> tuple[Replayed, ...]:
    """Return the rebalances of ``history`` as ``chosen`` would have decided them, each from its own last assignment.

    Raises:
        AssignmentError: the strategy cannot be replayed for this group (the text gives the reason), or a setting is
        invalid.
    """
    if refused := refusal(history, chosen, settings):
        raise AssignmentError(f"{chosen.name}: {refused}")
    behaviours = _behaviours(history)
    return tuple(
        _predicted(rebalance, behaviours[id(rebalance.rebalance)], chosen.protocol)
        for rebalance in replay_rebalances(history, chosen, settings)
    )


def what_if(
    history: RecordedHistory, names: Iterable[str] | None = None, settings: ReplaySettings | None = None
) -> WhatIf:
    """Replay ``history`` through these strategies, by default all; one pass covers both forms of a strategy.

    Only rebalances since the last change of assignor count; rebalances that lead in do not count. A strategy of another
    package that fails is refused, with its error as the reason.

    Raises:
        AssignmentError: there is no strategy with one of the names, or a setting is not valid.
    """
    history = since_last_assignor(history)
    restarts = avoidable(history)
    behaviours = _behaviours(history)
    spreads = _spreads(history, settings)
    last = history.decided[-1] if history.decided else None
    host_spread = spreads[id(last)] if last else None
    families: dict[str, _FamilyFigures | str] = {}
    outcomes = []
    for name in known_strategies() if names is None else names:
        chosen = find_strategy(name) or strategy(name)
        if refused := refusal(history, chosen, settings):
            outcomes.append(StrategyOutcome(name, chosen.protocol, refused=refused))
            continue
        if family(name) not in families:
            try:
                families[family(name)] = _FamilyFigures(
                    _both(history, chosen, settings, behaviours, restarts),
                    spread_anew(history, chosen, settings) if host_spread else None,
                )
            except StrategyFailedError as error:
                families[family(name)] = str(error)[:REFUSAL_CHARACTERS_MAX]
        replayed = families[family(name)]
        outcomes.append(
            StrategyOutcome(name, chosen.protocol, refused=replayed)
            if isinstance(replayed, str)
            else StrategyOutcome(
                name, chosen.protocol, replayed.figures[chosen.protocol], spread_anew=replayed.spread_anew
            )
        )
    recorded, recorded_upper, predicted = _recorded(history, behaviours, restarts, spreads)
    members = last.closing.members if last else ()
    return WhatIf(
        cluster_id=history.cluster_id,
        group=history.group,
        assignor=history.assignor,
        protocol=history.protocol,
        recorded=recorded,
        predicted=predicted,
        outcomes=tuple(outcomes),
        copartitioned=_copartitioned(history),
        group_type=history.group_type,
        clients=possible_clients(last.closing, history.clients) if last else (),
        gateway_clients=clients_behind_gateways(last.closing, history.clients) if last else (),
        partitions=sum(count_partitions(member.assigned) for member in members),
        slow=slow_member(history),
        recorded_upper=recorded_upper,
        host_spread=host_spread,
        spread_anew=_own_anew(history, settings, families) if host_spread else None,
    )


class _FamilyFigures(NamedTuple):
    """The figures of both forms of a strategy, by protocol, and its spread over hosts if all members started again."""

    figures: Mapping[RebalanceProtocol, Figures]
    spread_anew: HostSpread | None


def _own_anew(
    history: RecordedHistory, settings: ReplaySettings | None, families: Mapping[str, _FamilyFigures | str]
) -> HostSpread | None:
    """Return the spread over hosts of the group's own strategy if all members started again; None if it is unknown."""
    own = library_strategy(history.assignor)
    if own is None or refusal(history, own, settings):
        return None
    own_family = families.get(family(own.name))
    if own_family is not None:
        return None if isinstance(own_family, str) else own_family.spread_anew
    try:
        return spread_anew(history, own, settings)
    except StrategyFailedError:
        return None


def _spreads(history: RecordedHistory, settings: ReplaySettings | None) -> Mapping[int, HostSpread | None]:
    """Return the recorded spread over hosts of each rebalance that counts, and of the last rebalance."""
    hosts = (settings or ReplaySettings()).hosts
    return {
        id(rebalance): recorded_spread(rebalance, hosts)
        for rebalance in history.decided
        if history.counts(rebalance.closing) or rebalance is history.decided[-1]
    }


def _copartitioned(history: RecordedHistory) -> bool:
    """Return whether members had equal partition numbers of several topics at the end; applications may need it."""
    if not history.decided or history.group_type is not GroupType.CLASSIC:
        return False
    last = history.decided[-1]
    given = {member.member_id: member.assigned for member in last.closing.members}
    together = copartition_breaks(last.roster, owners_of(last.roster, given)) == 0
    return together and sum(map(bool, given.values())) > 1


def _behaviours(history: RecordedHistory) -> Mapping[int, Behaviour | None]:
    return {id(rebalance): behaviour_of(rebalance) for rebalance in history.decided}


def _predicted(replayed: ReplayedRebalance, behaviour: Behaviour | None, protocol: RebalanceProtocol) -> Replayed:
    return replayed_line(replayed, predict_stall(behaviour, replayed.given, protocol))


def replayed_line(replayed: ReplayedRebalance, stalled_partition_seconds: float | None) -> Replayed:
    """Return the figures of one replayed rebalance; the stall is predicted by the caller."""
    closing = replayed.rebalance.closing
    return Replayed(
        generation=closing.generation,
        timestamp_ms=closing.timestamp_ms,
        moved=replayed.moved,
        needed=replayed.needed,
        excess=None if replayed.needed is None else replayed.moved - replayed.needed,
        skew_ratio=replayed.skew_ratio,
        imbalance=replayed.imbalance,
        stalled_partition_seconds=stalled_partition_seconds,
        clustered_ratio=replayed.host_spread.clustered_ratio if replayed.host_spread else None,
    )


def _both(
    history: RecordedHistory,
    chosen: Strategy,
    settings: ReplaySettings | None,
    behaviours: Mapping[int, Behaviour | None],
    restarts: AvoidableRebalances,
) -> dict[RebalanceProtocol, Figures]:
    """Return the figures under each of the two protocols."""
    indexes = _indexes(history)
    sums = {protocol: Figures() for protocol in (RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE)}
    before: Assignment = {}
    for replayed in replay_rebalances(history, chosen, settings):
        key = id(replayed.rebalance)
        index = indexes[key]
        if history.counts(replayed.rebalance.closing):
            waited = restarts.waited(index, before)
            for protocol in sums:
                line = _predicted(replayed, behaviours[key], protocol)
                sums[protocol] += Figures.of(line, avoided=index in restarts.rebalances, waited=waited)
        before = replayed.assignment
    return {protocol: _total(figures) for protocol, figures in sums.items()}


def _total(sums: Figures) -> Figures:
    """Return the sums of all rebalances: where static membership avoids none of them, nothing waits for its members."""
    return sums if sums.avoided else replace(sums, waited_partition_seconds=0.0)


def _recorded(
    history: RecordedHistory,
    behaviours: Mapping[int, Behaviour | None],
    restarts: AvoidableRebalances,
    spreads: Mapping[int, HostSpread | None],
) -> tuple[Figures, float | None, Figures]:
    """Return the measured figures, the upper bounds of their stalls, and the same moves with predicted stalls."""
    indexes = _indexes(history)
    measured, predicted = Figures(), Figures()
    uppers: list[float | None] = []
    began = False
    for rebalance in history.decided:
        closing, behaviour, index = rebalance.closing, behaviours[id(rebalance)], indexes[id(rebalance)]
        # Replays start without an assignment here, too, so these moves are not counted.
        first, began = not began or rebalance.before is None, True
        if not history.counts(closing):
            continue
        before = owned_by(rebalance.before) if rebalance.before and not first else None
        given = None if before is None else count_moves(before, owned_by(closing))
        stalled_seconds = closing.stall.partition_seconds if closing.stall else None
        classic = closing.group_type is GroupType.CLASSIC  # the model covers classic groups
        stalled = predict_stall(behaviour, given, closing.protocol) if classic else None
        spread = spreads[id(rebalance)]
        line = Replayed(
            generation=closing.generation,
            timestamp_ms=closing.timestamp_ms,
            moved=0 if first else closing.moved or 0,
            needed=0 if first else closing.needed,
            excess=0 if first else closing.excess or 0,
            skew_ratio=1.0 if closing.skew_ratio is None else closing.skew_ratio,
            imbalance=closing.imbalance or 0,
            stalled_partition_seconds=stalled,
            clustered_ratio=spread.clustered_ratio if spread else None,
        )
        avoided, waited = index in restarts.rebalances, restarts.waited(index, before or {})
        predicted += Figures.of(line, avoided=avoided, waited=waited)
        measured_seconds = stalled_seconds if stalled is not None or not classic else None
        if measured_seconds is not None and closing.stall:
            uppers.append(closing.stall.upper_partition_seconds)
        measured += Figures.of(
            replace(line, stalled_partition_seconds=measured_seconds), avoided=avoided, waited=waited
        )
    return _total(measured), added(uppers), _total(predicted)


def _indexes(history: RecordedHistory) -> dict[int, int]:
    return {id(rebalance): index for index, rebalance in enumerate(history.rebalances)}
