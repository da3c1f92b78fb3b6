"""Derives the recommendation from figures: another strategy, static membership, a faster member, or no change.

This module is the only source of advice: `whatif`, `explain`, the pages and the report show its sentence.

The criteria for strategies, in order: they keep the purpose of the group's own strategy, and the group's clients can
run them; the lowest skew, since an overloaded member is slow all the time; the fewest topics that are entirely on one
host; the shortest stalls; and if no stall is known, the fewest moves. Small differences count as none, and the group's
own strategy wins ties.

A strategy that moves little keeps topics on several hosts, but may not bring them there, and a replay does not show
this if it begins with few members. So the assignment that the strategy makes if all members start again counts, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rebalance_agent.advice.client_kinds import can_be_static, usable
from rebalance_agent.advice.figures import Figures, StrategyOutcome, WhatIf
from rebalance_agent.advice.recommendation_text import Choice, is_clustered, sentence
from rebalance_agent.advice.replay.eligible_strategies import family, general_families, library_strategy
from rebalance_agent.advice.worth import CLUSTERED_MIN, MOVES_MIN, SKEW_MIN, STALL_MIN, WORTH_PARTITION_SECONDS
from rebalance_agent.model.group import GroupType, RebalanceProtocol

__all__ = ["Recommendation", "keeps_purpose", "recommend"]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A recommendation for one group. ``strategy``: None if no better strategy is known.

    ``saved_partition_seconds`` and ``saved_moves`` are predictions over the recorded rebalances. ``slow_member``: the
    name of a member that should stop sooner. ``clustered``: most topics are entirely on one host. ``strategy_share``,
    ``static_share``: the share of the group's predicted stall that the strategy saves, and that static members save of
    the rest; None if not recommended, or without known stalls. A strategy with less skew may cost stall (below 0).
    """

    cluster_id: str
    group: str
    strategy: str | None
    protocol: RebalanceProtocol | None
    static_membership: bool
    saved_partition_seconds: float | None
    saved_moves: int | None
    sentence: str
    slow_member: str | None = None
    clustered: bool = False
    strategy_share: float | None = None
    static_share: float | None = None

    @property
    def advises(self) -> bool:
        """Whether the recommendation contains any change."""
        return self.strategy is not None or self.static_membership or self.slow_member is not None or self.clustered


def recommend(what_if: WhatIf) -> Recommendation:
    """Return the best of the replayed strategies that the group's clients can run, and what else would have helped."""
    # For a classic group these are the recorded moves, with stalls of the same model as for all others.
    figures = what_if.predicted if what_if.group_type is GroupType.CLASSIC else what_if.recorded
    own = StrategyOutcome(what_if.assignor or "", what_if.protocol, figures)
    candidates = [_with_lasting_spread(candidate, own.figures) for candidate in _candidates(what_if)]
    best = _best(own, [candidate for candidate in candidates if not _clusters_more(candidate, what_if)])
    preferred = _best(own, candidates)
    better = best is not own
    static = _static_saves(best.figures) and can_be_static((*what_if.clients, *what_if.gateway_clients))
    by_strategy = own.figures.stalled_partition_seconds - best.figures.stalled_partition_seconds
    by_static = best.figures.avoided_partition_seconds - best.figures.waited_partition_seconds
    saved = by_strategy + (by_static if static else 0.0)
    saved_moves = own.figures.moved - best.figures.moved
    slow = what_if.slow if what_if.slow and what_if.slow.partition_seconds >= WORTH_PARTITION_SECONDS else None
    rejected = preferred if _clusters_more(preferred, what_if) else None
    choice = Choice(own, best if better else None, slow, static=static, rejected=rejected)
    return Recommendation(
        cluster_id=what_if.cluster_id,
        group=what_if.group,
        strategy=best.strategy if better else None,
        protocol=best.protocol if better else None,
        static_membership=static,
        saved_partition_seconds=saved if (better or static) and own.figures.stalls else None,
        saved_moves=saved_moves if better else None,
        sentence=sentence(what_if, choice),
        slow_member=slow.name if slow else None,
        clustered=is_clustered(what_if),
        strategy_share=_share(own.figures, by_strategy) if better else None,
        static_share=_share(best.figures, by_static) if static else None,
    )


def _share(figures: Figures, saved: float) -> float | None:
    """Return the saved share of the predicted stall; None without stall."""
    return saved / figures.stalled_partition_seconds if figures.stalled_partition_seconds > 0 else None


def keeps_purpose(name: str, own_name: str | None) -> bool:
    """Return whether ``name`` promises what the group's own strategy promises; False for another client's assignor."""
    own = family(own_name or "")
    if library_strategy(own_name) is None or name == own_name:
        return False
    general = general_families()
    return family(name) in general if own in general else family(name) == own


def _best(own: StrategyOutcome, candidates: Iterable[StrategyOutcome]) -> StrategyOutcome:
    best = own
    for outcome in sorted(candidates, key=_order):
        # Small differences may add up, so each candidate must also be better than the group's own strategy.
        if _better(outcome.figures, best.figures) and (best is own or _better(outcome.figures, own.figures)):
            best = outcome
    return best


def _with_lasting_spread(outcome: StrategyOutcome, own: Figures) -> StrategyOutcome:
    """Return the outcome with the share of topics on one host that results if all members start again.

    So only a lasting improvement over the group's ``own`` share counts.
    """
    figures, anew = outcome.figures, outcome.spread_anew
    lasting = min(anew.clustered_ratio if anew else 0.0, own.clustered_mean or 0.0)
    if lasting <= (figures.clustered_mean or 0.0):
        return outcome
    return replace(outcome, figures=replace(figures, clustered_sum=lasting * figures.spreads))


def _clusters_more(outcome: StrategyOutcome, what_if: WhatIf) -> bool:
    """Return whether clearly more topics would be on one host than with the group's strategy if all members restarted.

    If the group's own strategy cannot be replayed, its last assignment counts.
    """
    own, anew = what_if.spread_anew or what_if.host_spread, outcome.spread_anew
    return own is not None and anew is not None and anew.clustered_ratio - own.clustered_ratio >= CLUSTERED_MIN


def _candidates(what_if: WhatIf) -> list[StrategyOutcome]:
    return [
        outcome
        for outcome in what_if.outcomes
        if outcome.refused is None
        and keeps_purpose(outcome.strategy, what_if.assignor)
        and usable(what_if.clients, what_if.assignor, outcome.strategy, what_if.gateway_clients)
    ]


def _order(outcome: StrategyOutcome) -> tuple[bool, int, str]:
    """Return the sort key of candidates: cooperative forms, which stop less, come first; then fewer moves."""
    kind, general = family(outcome.strategy), general_families()
    index = general.index(kind) if kind in general else len(general)
    return outcome.protocol is not RebalanceProtocol.COOPERATIVE, index, outcome.strategy


def _better(one: Figures, other: Figures) -> bool:
    """Return whether ``one`` is better, judged by skew, then hosts, then stalls, or by moves if no stall is known."""
    one_skew, other_skew = one.skew_mean or 1.0, other.skew_mean or 1.0
    if abs(one_skew - other_skew) >= SKEW_MIN:
        return one_skew < other_skew
    clustered = one.clustered_mean or 0.0, other.clustered_mean or 0.0
    if abs(clustered[0] - clustered[1]) >= CLUSTERED_MIN:
        return clustered[0] < clustered[1]
    stalls = one.stalled_partition_seconds, other.stalled_partition_seconds
    if max(stalls) - min(stalls) >= max(WORTH_PARTITION_SECONDS, STALL_MIN * max(stalls)):
        return stalls[0] < stalls[1]
    return not other.stalls and other.moved - one.moved >= max(1.0, MOVES_MIN * other.moved)


def _static_saves(figures: Figures) -> bool:
    return figures.avoided_partition_seconds - figures.waited_partition_seconds >= max(
        WORTH_PARTITION_SECONDS, STALL_MIN * figures.stalled_partition_seconds
    )
