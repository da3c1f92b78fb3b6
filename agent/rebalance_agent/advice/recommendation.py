"""Derives a recommendation from figures: which strategy and protocol, static membership or not, or nothing better.

Order of criteria: strategies that keep the purpose of the group's own; the lowest skew, since an overloaded member is
slow all the time; the shortest stalls; the fewest moves. Small differences count as none, and the group's own strategy
wins ties.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebalance_agent.advice.eligible_strategies import GENERAL, family, library_strategy
from rebalance_agent.advice.figures import Figures, StrategyOutcome, WhatIf
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["REBALANCES_MIN", "Recommendation", "recommend"]

REBALANCES_MIN = 5
"""Rebalances below which the sentence says that there were few."""

SKEW_MIN = 0.05
"""Smallest difference of mean skew that counts, as a part of a member's share."""

STALL_MIN = 0.1
"""Smallest difference of stalls that counts, as a part of the stalled partition-seconds: the precision of the model."""

STALL_SECONDS_MIN = 1.0
"""Smallest difference of stalls that counts, in partition-seconds."""

MOVES_MIN = 0.1
"""Smallest difference of moves that counts, as a part of the moves."""

_PART = frozenset(GENERAL) - {"range"}
"""Families that give equal partition numbers of different topics to different members."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A recommendation for one group. ``strategy`` None: no better one is known.

    ``saved_partition_seconds`` and ``saved_moves`` are predictions over the recorded rebalances.
    """

    cluster_id: str
    group: str
    strategy: str | None
    protocol: RebalanceProtocol | None
    static_membership: bool
    saved_partition_seconds: float | None
    saved_moves: int | None
    sentence: str


def recommend(what_if: WhatIf) -> Recommendation:
    """Return the best of the replayed strategies for the group, by figures alone."""
    own = _own(what_if)
    candidates = [
        outcome for outcome in what_if.outcomes if outcome.refused is None and _keeps_purpose(outcome.strategy, what_if)
    ]
    best = own
    for outcome in sorted(candidates, key=_order):
        # Small differences may add up on the way, so each must be better than the group's own, too.
        if _better(outcome.figures, best.figures) and (best is own or _better(outcome.figures, own.figures)):
            best = outcome
    better = best is not own
    static = _static_saves(best.figures)
    saved = own.figures.stalled_partition_seconds - best.figures.stalled_partition_seconds
    saved_moves = own.figures.moved - best.figures.moved
    if static:
        saved += best.figures.avoided_partition_seconds - best.figures.waited_partition_seconds
    saves = better or static
    return Recommendation(
        cluster_id=what_if.cluster_id,
        group=what_if.group,
        strategy=best.strategy if better else None,
        protocol=best.protocol if better else None,
        static_membership=static,
        saved_partition_seconds=saved if saves and own.figures.stalls else None,
        saved_moves=saved_moves if better else None,
        sentence=_sentence(what_if, own, best if better else None, static=static),
    )


def _own(what_if: WhatIf) -> StrategyOutcome:
    """Return what the group runs: the recorded moves, with stalls of the same model as for all others."""
    return StrategyOutcome(what_if.assignor or "", what_if.protocol, what_if.predicted)


def _keeps_purpose(name: str, what_if: WhatIf) -> bool:
    """Return whether it promises what the group's own strategy does; always False for another client's assignor."""
    own = family(what_if.assignor or "")
    if library_strategy(what_if.assignor) is None or name == what_if.assignor:
        return False
    return family(name) in GENERAL if own in GENERAL else family(name) == own


def _order(outcome: StrategyOutcome) -> tuple[bool, int, str]:
    """Return the sort key of candidates: cooperative forms first, which stop less; then those that move less."""
    kind = family(outcome.strategy)
    place = GENERAL.index(kind) if kind in GENERAL else len(GENERAL)
    return outcome.protocol is not RebalanceProtocol.COOPERATIVE, place, outcome.strategy


def _better(one: Figures, other: Figures) -> bool:
    """Return whether a change is worth it: by skew, else by stalls, else by moves."""
    one_skew, other_skew = one.skew_mean or 1.0, other.skew_mean or 1.0
    if abs(one_skew - other_skew) >= SKEW_MIN:
        return one_skew < other_skew
    if _stall_differs(one, other):
        return one.stalled_partition_seconds < other.stalled_partition_seconds
    return other.moved - one.moved >= max(1.0, MOVES_MIN * other.moved)


def _stall_differs(one: Figures, other: Figures) -> bool:
    stalls = one.stalled_partition_seconds, other.stalled_partition_seconds
    return max(stalls) - min(stalls) >= max(STALL_SECONDS_MIN, STALL_MIN * max(stalls))


def _static_saves(figures: Figures) -> bool:
    return figures.avoided_partition_seconds - figures.waited_partition_seconds >= max(
        STALL_SECONDS_MIN, STALL_MIN * figures.stalled_partition_seconds
    )


def _sentence(what_if: WhatIf, own: StrategyOutcome, best: StrategyOutcome | None, *, static: bool) -> str:
    count = own.figures.generations
    refused = [outcome.refused for outcome in what_if.outcomes if outcome.refused is not None]
    if refused and len(refused) == len(what_if.outcomes):
        return f"There is nothing to choose from: {refused[0]}."
    name = what_if.assignor or "its assignor"
    if best is not None:
        text = f"Use {best.strategy} instead of {name}: {_gains(own.figures, best.figures)}"
    elif library_strategy(what_if.assignor) is None:
        text = f"What {name} promises is not known here, so the figures are for comparing only"
    else:
        text = f"Nothing better than {name} is known for this group"
    text += _static(own if best is None else best, alone=best is None) if static else ""
    text += "."
    if best is not None and what_if.copartitioned and family(best.strategy) in _PART:
        text += (
            " If the application joins topics by partition number, it must stay with an assignor that keeps equal "
            "numbers together, such as cooperative-copartitioned-sticky."
        )
    stalls = own.figures.stalls
    if count < REBALANCES_MIN:
        text += f" Only {count} {'rebalance was' if count == 1 else 'rebalances were'} seen: take it as a hint."
    elif 0 < stalls < REBALANCES_MIN and (static or _stall_matters(own, best)):
        text += f" Stalls are known of {stalls} of {count} rebalances only: take them as a hint."
    return text


def _stall_matters(own: StrategyOutcome, best: StrategyOutcome | None) -> bool:
    return best is not None and _stall_differs(own.figures, best.figures)


def _gains(own: Figures, best: Figures) -> str:
    """Return what gets better and what gets worse, as text."""
    lines = list(_differences(own, best))
    better, worse = ([text for good, text in lines if good is wanted] for wanted in (True, False))
    return f"{_listed(better)}, though {_listed(worse)}" if worse else _listed(better)


def _differences(own: Figures, best: Figures) -> Iterator[tuple[bool, str]]:
    own_skew, best_skew = own.skew_mean or 1.0, best.skew_mean or 1.0
    if abs(own_skew - best_skew) >= SKEW_MIN:
        text = f"the most loaded member would have had {best_skew:.2f} times its share instead of {own_skew:.2f}"
        yield best_skew < own_skew, text
    had, has = own.stalled_partition_seconds, best.stalled_partition_seconds
    if own.stalls and abs(had - has) >= STALL_SECONDS_MIN:
        yield (
            has < had,
            f"partitions would have stood still for {_amount(has)} partition-seconds instead of {_amount(had)}",
        )
    if own.moved != best.moved:
        yield best.moved < own.moved, f"{best.moved} partitions would have moved instead of {own.moved}"


def _static(outcome: StrategyOutcome, *, alone: bool) -> str:
    figures = outcome.figures
    saved = figures.avoided_partition_seconds - figures.waited_partition_seconds
    rebalances = f"{figures.avoided} {'rebalance' if figures.avoided == 1 else 'rebalances'}"
    start = "; but a group.instance.id" if alone else "; a group.instance.id"
    return f"{start} for each member would have avoided {rebalances} and saved {_amount(saved)} partition-seconds"


def _amount(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}"  # noqa: PLR2004 - two figures are enough


def _listed(texts: Sequence[str]) -> str:
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
