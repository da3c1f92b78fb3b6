"""Writes the sentences of a recommendation. Pure; `recommendation` decides what to recommend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rebalance_agent.advice.change_steps import joined, steps
from rebalance_agent.advice.figures import Figures, StrategyOutcome, WhatIf
from rebalance_agent.advice.replay.eligible_strategies import family, general_families, library_strategy
from rebalance_agent.advice.slow_members import SlowMember
from rebalance_agent.advice.worth import CLUSTERED_MAX, CLUSTERED_MIN, SKEW_MIN, WORTH_PARTITION_SECONDS

__all__ = ["REBALANCES_MIN", "Choice", "is_clustered", "sentence"]

REBALANCES_MIN = 5
"""Number of rebalances below which the sentence mentions that there were few."""

_BY_ORDER = frozenset({"range", "roundrobin"})
"""Assignors that give consecutive partitions to members with consecutive ids."""

_KEEPS_NUMBERS = "range"
"""The only family in `general_families` that gives equal partition numbers of different topics to one member."""


_NO_MORE = "0% more"


@dataclass(frozen=True, slots=True)
class Choice:
    """A recommendation: ``own`` is the group's strategy, ``best`` a better one, ``slow`` a slow member.

    ``rejected``: the strategy with the best figures, if it would put more topics on one host after all members
    restarted.
    """

    own: StrategyOutcome
    best: StrategyOutcome | None
    slow: SlowMember | None
    static: bool
    rejected: StrategyOutcome | None = None


def sentence(what_if: WhatIf, choice: Choice) -> str:
    """Return the recommendation in sentences: the change, its steps, its savings, and its confidence."""
    parts = (
        _main(what_if, choice),
        *(steps(what_if, choice.best.strategy) if choice.best else ()),
        *_rejected(what_if, choice),
        *_doubts(what_if, choice),
    )
    return " ".join([*_slow(choice.slow), *_clustered(what_if, choice), *parts])


def is_clustered(what_if: WhatIf) -> bool:
    """Return whether most topics were entirely on one host in the end."""
    return what_if.host_spread is not None and what_if.host_spread.clustered_ratio > CLUSTERED_MAX


def _slow(slow: SlowMember | None) -> Iterator[str]:
    if slow is not None:
        yield (
            f"{_sooner(slow)}: the group waited {slow.seconds:.1f} s for it in a stall of {slow.stall_seconds:.1f} s "
            "(measured by the members)."
        )


def _sooner(slow: SlowMember) -> str:
    """Return what makes the member ready sooner. It detects a rebalance at a heartbeat, and reacts in its next poll."""
    if slow.stop_seconds is None:
        return f"Make {slow.name} stop sooner, with a shorter revoked callback or less work between two polls"
    if slow.stop_seconds < slow.seconds / 2:
        return f"Make {slow.name} stop sooner, with a shorter revoked callback"
    return (
        f"Make {slow.name} detect rebalances sooner, with a lower heartbeat.interval.ms or less work between two polls"
    )


def _clustered(what_if: WhatIf, choice: Choice) -> Iterator[str]:
    """Yield the sentence that most topics are entirely on one host, and a remedy if no strategy helps."""
    if (spread := what_if.host_spread) is None or not is_clustered(what_if):
        return
    yield f"{spread.on_one_host} of {spread.topics} topics have all their partitions on one of {spread.hosts} hosts."
    cured = choice.best and (choice.best.figures.clustered_mean or 0.0) < (choice.own.figures.clustered_mean or 0.0)
    if not cured and what_if.assignor in _BY_ORDER:
        yield (
            f"{what_if.assignor} assigns in the order of member ids, which begin with the client id: with client ids "
            "that do not begin with the host name, it would spread the topics over the hosts."
        )


def _main(what_if: WhatIf, choice: Choice) -> str:
    own, best = choice.own, choice.best
    name = what_if.assignor or "its assignor"
    if best is not None:
        text = f"Use {best.strategy} instead of {name}: {_gains(own.figures, best.figures)}"
    elif reason := _refused(what_if):
        text = f"No strategy can be recommended: {reason}"
    elif library_strategy(what_if.assignor) is None:
        text = f"It is unknown what {name} guarantees, so the figures are only for comparison"
    else:
        text = f"No strategy better than {name} is known for this group"
        if what_if.recorded.generations == 1 and not what_if.predicted.stalls:
            text += ", but the stalls of other strategies cannot be predicted from one recorded rebalance"
    return text + (_static(best or own, alone=best is None) if choice.static else "") + "."


def _refused(what_if: WhatIf) -> str | None:
    """Return why no strategy could be replayed; None if at least one was replayed."""
    refused = [outcome.refused for outcome in what_if.outcomes if outcome.refused is not None]
    return refused[0] if refused and len(refused) == len(what_if.outcomes) else None


def _rejected(what_if: WhatIf, choice: Choice) -> Iterator[str]:
    """Yield why a strategy with better figures is not recommended."""
    if choice.rejected is None or (anew := choice.rejected.spread_anew) is None:
        return
    if own := what_if.spread_anew:
        instead = f"instead of {own.clustered} with {what_if.assignor}"
    else:
        instead = f"instead of {what_if.host_spread.clustered if what_if.host_spread else 0} now"
    yield (
        f"{choice.rejected.strategy} is not recommended: if all members stopped and started again, {anew.clustered} of "
        f"{anew.topics} topics would be entirely on one host, {instead}."
    )


def _doubts(what_if: WhatIf, choice: Choice) -> Iterator[str]:
    own, best = choice.own.figures, choice.best
    if best is not None and what_if.copartitioned and _splits_numbers(best.strategy):
        yield (
            "If the application joins topics by partition number, it must stay with an assignor that keeps "
            "partitions with the same number together, such as cooperative-copartitioned-sticky."
        )
    count, stalls = own.generations, own.stalls
    if not count or (_refused(what_if) and not choice.static):
        return
    matters = best is not None and abs(_saved(own, best.figures)) >= WORTH_PARTITION_SECONDS
    if count < REBALANCES_MIN:
        yield f"This is only a hint: it is based on {count} {'rebalance' if count == 1 else 'rebalances'}."
    elif 0 < stalls < REBALANCES_MIN and (choice.static or matters):
        yield f"This is only a hint: stalls are known for {stalls} of {count} rebalances."


def _splits_numbers(name: str) -> bool:
    kind = family(name)
    return kind != _KEEPS_NUMBERS and kind in general_families()


def _saved(own: Figures, best: Figures) -> float:
    return own.stalled_partition_seconds - best.stalled_partition_seconds


def _gains(own: Figures, best: Figures) -> str:
    """Return what gets better and what gets worse, as text."""
    lines = list(_differences(own, best))
    better, worse = ([text for good, text in lines if good is is_better] for is_better in (True, False))
    return f"{joined(better)}, though {joined(worse)}" if worse else joined(better)


def _differences(own: Figures, best: Figures) -> Iterator[tuple[bool, str]]:
    own_skew, best_skew = own.skew_mean or 1.0, best.skew_mean or 1.0
    if abs(own_skew - best_skew) >= SKEW_MIN:
        yield best_skew < own_skew, _most_loaded(best_skew, own_skew)
    clustered, spread = own.clustered_mean or 0.0, best.clustered_mean or 0.0
    if abs(clustered - spread) >= CLUSTERED_MIN:
        yield (
            spread < clustered,
            f"{spread:.0%} of the topics would have been entirely on one host instead of {clustered:.0%}",
        )
    had, has = own.stalled_partition_seconds, best.stalled_partition_seconds
    if own.stalls and abs(had - has) >= WORTH_PARTITION_SECONDS:
        stalled = f"{_amount(has)} partition-seconds instead of {_amount(had)} (both predicted)"
        yield has < had, f"partitions would have been stalled for {stalled}"
    if own.moved != best.moved:
        yield best.moved < own.moved, f"{best.moved} partitions would have moved instead of {own.moved}"


def _most_loaded(best_skew: float, own_skew: float) -> str:
    """Return the load of the most loaded member, compared with its share: a skew of 1.49 is 49% more."""
    best, own = (f"{max(0.0, skew - 1):.0%} more" for skew in (best_skew, own_skew))
    had = "its share" if best == _NO_MORE else f"{best} than its share"
    instead = "its share" if own == _NO_MORE else own
    return f"the most loaded member would have had {had} of the partitions instead of {instead}"


def _static(outcome: StrategyOutcome, *, alone: bool) -> str:
    figures = outcome.figures
    saved = figures.avoided_partition_seconds - figures.waited_partition_seconds
    rebalances = f"{figures.avoided} {'rebalance' if figures.avoided == 1 else 'rebalances'}"
    start = "; but a group.instance.id" if alone else "; a group.instance.id"
    saves = f"saved {_amount(saved)} partition-seconds (predicted)"
    return f"{start} for each member would have avoided {rebalances} and {saves}"


def _amount(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}"  # noqa: PLR2004 - two figures are enough
