"""From figures to one plain sentence: which strategy, which protocol, static membership or not, or nothing better.

In this order: what keeps the purpose of the group's own strategy; the least skew, since an overloaded member is slow
all day; the shortest stalls; the fewest moves. Differences that are too small to act upon count as none, and the
group's own strategy wins every tie.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebalance_agent.advice.eligible_strategies import GENERAL, family, library_strategy
from rebalance_agent.advice.figures import Figures, StrategyOutcome, WhatIf
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["REBALANCES_MIN", "Recommendation", "recommend"]

REBALANCES_MIN = 5
"""Fewer say little: the sentence then says so."""

SKEW_MIN = 0.05
"""Of a member's share: less is not felt."""

STALL_MIN = 0.1
"""Of the stalled partition-seconds: the model is not more exact than that."""

STALL_SECONDS_MIN = 1.0
"""Stalled partition-seconds that nobody changes an assignor for."""

MOVES_MIN = 0.1
"""Of the moves."""

_PART = frozenset(GENERAL) - {"range"}
"""Families that give equal numbers of topics to different members."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """``strategy`` None: nothing better is known. What is saved is predicted, over the recorded rebalances."""

    cluster_id: str
    group: str
    strategy: str | None
    protocol: RebalanceProtocol | None
    static_membership: bool
    saved_partition_seconds: float | None
    saved_moves: int | None
    sentence: str


def recommend(what_if: WhatIf) -> Recommendation:
    """The best of what was replayed for the group, by the figures alone."""
    own = _own(what_if)
    candidates = [
        outcome for outcome in what_if.outcomes if outcome.refused is None and _keeps_purpose(outcome.strategy, what_if)
    ]
    best = own
    for outcome in sorted(candidates, key=_order):
        # Differences that count as none may add up on the way: each must be better than what there is, too.
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
    """What the group runs: as it was recorded, with the stalls of the same model as for all others."""
    return StrategyOutcome(what_if.assignor or "", what_if.protocol, what_if.predicted)


def _keeps_purpose(name: str, what_if: WhatIf) -> bool:
    """Whether it promises what the group's own does; of a foreign assignor nobody knows."""
    own = family(what_if.assignor or "")
    if library_strategy(what_if.assignor) is None or name == what_if.assignor:
        return False
    return family(name) in GENERAL if own in GENERAL else family(name) == own


def _order(outcome: StrategyOutcome) -> tuple[bool, int, str]:
    """Of equals the first is taken: cooperative forms first, they stop less; then those that move less."""
    kind = family(outcome.strategy)
    place = GENERAL.index(kind) if kind in GENERAL else len(GENERAL)
    return outcome.protocol is not RebalanceProtocol.COOPERATIVE, place, outcome.strategy


def _better(one: Figures, other: Figures) -> bool:
    """Whether it is worth a change: by skew, else by stalls, else by moves."""
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
    """What gets better, and what gets worse."""
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
