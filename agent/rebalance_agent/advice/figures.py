"""What a replay comes to, in numbers that add up over the parts of a history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from rebalance_agent.model.group import GroupType, RebalanceProtocol

__all__ = ["STALLS_FIELDS", "Figures", "Replayed", "StrategyOutcome", "Sums", "WhatIf", "merged"]

STALLS_FIELDS = ("stalled_partition_seconds", "avoided", "avoided_partition_seconds", "waited_partition_seconds")
"""Fields of `Figures` that say something only if there are ``stalls``."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One rebalance under another strategy; ``stalled_partition_seconds`` as predicted, None where nobody can.

    ``generation`` is the recorded one that closed it. ``moved`` of the first one of all is 0: it begins from nothing.
    """

    generation: int
    timestamp_ms: int
    moved: int
    needed: int | None
    excess: int | None
    skew_ratio: float
    imbalance: int
    stalled_partition_seconds: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """Sums over rebalances. ``generations`` were judged for skew and imbalance, ``stalls`` have known stalls.

    ``avoided``: rebalances that static membership would have avoided, with their stalls
    (``avoided_partition_seconds``); ``waited_partition_seconds``: what partitions would have waited instead.
    """

    generations: int = 0
    moved: int = 0
    excess: int = 0
    skew_sum: float = 0.0
    skew_max: float = 1.0
    imbalance_sum: int = 0
    stalls: int = 0
    stalled_partition_seconds: float = 0.0
    avoided: int = 0
    avoided_partition_seconds: float = 0.0
    waited_partition_seconds: float = 0.0

    @property
    def skew_mean(self) -> float | None:
        """The mean skew ratio; None of nothing."""
        return self.skew_sum / self.generations if self.generations else None

    @property
    def imbalance_mean(self) -> float | None:
        """The mean imbalance; None of nothing."""
        return self.imbalance_sum / self.generations if self.generations else None

    def __add__(self, other: Figures) -> Figures:
        """Of two parts of one history."""
        return Figures(
            generations=self.generations + other.generations,
            moved=self.moved + other.moved,
            excess=self.excess + other.excess,
            skew_sum=self.skew_sum + other.skew_sum,
            skew_max=max(self.skew_max, other.skew_max),
            imbalance_sum=self.imbalance_sum + other.imbalance_sum,
            stalls=self.stalls + other.stalls,
            stalled_partition_seconds=self.stalled_partition_seconds + other.stalled_partition_seconds,
            avoided=self.avoided + other.avoided,
            avoided_partition_seconds=self.avoided_partition_seconds + other.avoided_partition_seconds,
            waited_partition_seconds=self.waited_partition_seconds + other.waited_partition_seconds,
        )


@dataclass(frozen=True, slots=True)
class StrategyOutcome:
    """What one strategy would have made of it; ``refused`` is why nobody can say."""

    strategy: str
    protocol: RebalanceProtocol
    figures: Figures = Figures()
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A group's past beside what other strategies would have made of it.

    ``recorded``: what was measured, stalls included. ``predicted``: the same moves with the stalls of the model, for
    the protocol that was spoken: how far it is from ``recorded`` is how far the model can be trusted.
    ``copartitioned``: several topics of equal partition counts lay on the same members, number by number, at the end.
    ``assignor`` None: nobody assigned; ``group_type``: who did in the end.
    """

    cluster_id: str
    group: str
    assignor: str | None
    protocol: RebalanceProtocol
    recorded: Figures
    predicted: Figures
    outcomes: tuple[StrategyOutcome, ...]
    copartitioned: bool = False
    group_type: GroupType = GroupType.CLASSIC


def merged(parts: Sequence[WhatIf]) -> WhatIf:
    """One group's parts, oldest first, as one; where a strategy was refused in one, it is refused.

    A part without a decision says nothing, and neither does what was before the last change of assignor or group type.
    """
    decided = [part for part in parts if part.recorded.generations]
    last = decided[-1] if decided else parts[-1]
    same = (last.assignor, last.group_type)
    parts = [*takewhile(lambda part: (part.assignor, part.group_type) == same, reversed(decided or [last]))][::-1]
    outcomes = []
    for index, outcome in enumerate(last.outcomes):
        refused = next((part.outcomes[index].refused for part in parts if part.outcomes[index].refused), None)
        figures = sum((part.outcomes[index].figures for part in parts), Figures())
        outcomes.append(replace(outcome, figures=Figures() if refused else figures, refused=refused))
    return replace(
        last,
        recorded=sum((part.recorded for part in parts), Figures()),
        predicted=sum((part.predicted for part in parts), Figures()),
        outcomes=tuple(outcomes),
    )


class Sums:
    """`Figures` in the making."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._lines = self._moved = self._excess = self._imbalance = self._stalls = self._avoided = 0
        self._skew, self._skew_max, self._stalled, self._avoided_seconds, self._waited = 0.0, 1.0, 0.0, 0.0, 0.0

    def add(self, line: Replayed, *, avoided: bool, waited: float) -> None:
        """One more rebalance; ``avoided``: static membership would have avoided it, for this waiting instead."""
        self._lines += 1
        self._moved += line.moved
        self._excess += line.excess or 0
        self._skew += line.skew_ratio
        self._skew_max = max(self._skew_max, line.skew_ratio)
        self._imbalance += line.imbalance
        self._waited += waited
        if line.stalled_partition_seconds is None:
            return
        self._stalls += 1
        self._stalled += line.stalled_partition_seconds
        if avoided:
            self._avoided += 1
            self._avoided_seconds += line.stalled_partition_seconds

    def figures(self) -> Figures:
        """The sums."""
        return Figures(
            generations=self._lines,
            moved=self._moved,
            excess=self._excess,
            skew_sum=self._skew,
            skew_max=self._skew_max,
            imbalance_sum=self._imbalance,
            stalls=self._stalls,
            stalled_partition_seconds=self._stalled,
            avoided=self._avoided,
            avoided_partition_seconds=self._avoided_seconds,
            waited_partition_seconds=self._waited if self._avoided else 0.0,
        )
