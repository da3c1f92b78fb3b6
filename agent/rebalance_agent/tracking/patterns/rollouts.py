"""Rollouts (deploys): series of rebalances in which a group's members are replaced one after the other.

The rules are based on settled episodes; times are by the coordinator's clock:

1. Departed and joined members are paired as replacements; see `replacements.Replacements`.
2. Replacements that follow each other within `QUIET_MS` add up, until `rollout_evidence.is_rollout` holds. The count of
   restarts begins again when another member joins, departs or fails, or when a successor departs.
3. A rollout spans the rebalances from the first to the last one of its replacements, with their costs.
4. It ends when no member was replaced for `QUIET_MS`, or after `LENGTH_MAX_MS`.
5. `rollout_progress` shows whether the rollout goes well. Only such a rollout silences alerts.

A member in a crash loop is replaced once: the departure of a recent successor does not count, unless another version
replaces it, as in a second deploy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.tracking.patterns.current_rollout import LENGTH_MAX_MS, QUIET_MS, CurrentRollout
from rebalance_agent.tracking.patterns.replacements import (
    PAIR_MS,
    AnyMember,
    Paired,
    Replacement,
    Replacements,
    ReportedBy,
)
from rebalance_agent.tracking.patterns.rollout_evidence import Proof, is_rollout
from rebalance_agent.tracking.patterns.rollout_progress import RolloutProgress
from rebalance_agent.tracking.patterns.unpaired_members import SettledRebalance

__all__ = ["REBALANCES_MAX", "SUCCESSORS_MAX", "Rollouts"]

REBALANCES_MAX = 1_024
"""Maximum number of rebalances kept that may belong to a rollout: more than three per second for `QUIET_MS`."""

SUCCESSORS_MAX = 4_096
"""Maximum number of successors kept per group: twice the largest groups. Beyond it none is added."""


class Rollouts:
    """The rollouts of one group, one at a time (``shown``: the current or last one).

    The same episodes in the same order give the same events.
    """

    def __init__(self) -> None:
        """Start without replacements."""
        self.shown: RolloutEvent | None = None
        self._progress = RolloutProgress()
        self._replacements = Replacements()
        self._successors: dict[str, int] = {}
        self._unreplaced: dict[str, int] = {}
        self._counted: list[Replacement] = []
        self._rebalances: list[SettledRebalance] = []
        self._current: CurrentRollout | None = None

    @property
    def going_well(self) -> bool:
        """Whether a rollout is running or has recently ended, and nothing fails (see `RolloutProgress`)."""
        return self._progress.going_well

    @property
    def due_ms(self) -> int | None:
        """The next deadline of `pass_time` (observer's clock); None if nothing will change."""
        deadlines = (self._current.due_ms if self._current else None, self._progress.due_ms)
        return min((due_ms for due_ms in deadlines if due_ms is not None), default=None)

    def add_episode(
        self,
        before: Sequence[AnyMember],
        events: Sequence[GenerationEvent],
        reported_by: ReportedBy,
        now_ms: int,
    ) -> RolloutEvent | None:
        """Process a settled episode: the members ``before`` it, and its generations' ``events``.

        Returns:
            The event of a rollout that was recognised with this episode; otherwise None.
        """
        rebalance = SettledRebalance.of(len(before), events)
        self._forget(rebalance.at_ms)
        self._rebalances.append(rebalance)
        del self._rebalances[:-REBALANCES_MAX]
        paired = self._replacements.add_episode(rebalance, before, events, reported_by)
        failed = self._successors.keys() & paired.departed
        counted = [replacement for replacement in paired.replacements if self._counts(replacement)]
        recognised = None
        if self._current is not None:
            self._extend(self._current, counted, events[-1], now_ms)
        else:
            self._add_up(paired, counted, broken=bool(failed) or Trigger.MEMBER_FAILED in events[-1].causes)
            recognised = self._recognise(events[-1], now_ms) if counted else None
        self._count_failures(failed, paired.replacements, rebalance.at_ms, now_ms)
        self._progress.count_members(len(events[-1].members), self._replacements.departed_ms, rebalance.at_ms, now_ms)
        return recognised

    def abort(self, at_ms: int, now_ms: int) -> None:
        """Process a generation that had been aborted by ``at_ms`` (coordinator's clock)."""
        self._progress.abort(at_ms, now_ms)

    def pass_time(self, now_ms: int) -> RolloutEvent | None:
        """Return the event of the rollout that has ended by ``now_ms``, if any."""
        self._progress.pass_time(now_ms)
        return self._end() if self._current is not None and now_ms >= self._current.due_ms else None

    def set_back(self, by_ms: int) -> None:
        """Shift the deadlines that continue after the rollout: the observer's clock was set back by ``by_ms``."""
        self._progress.set_back(by_ms)

    def end(self) -> RolloutEvent | None:
        """End the current rollout, since the group is gone; return its event, None without a rollout."""
        self._progress.clear()
        return self._end()

    def _end(self) -> RolloutEvent | None:
        if self._current is None or self.shown is None:
            return None
        self.shown = self._current.event(self.shown, closed=True)
        self._current = None
        self._counted = []
        return self.shown

    def _counts(self, replacement: Replacement) -> bool:
        repeated = self._successors.pop(replacement.gone, None) is not None
        if len(self._successors) < SUCCESSORS_MAX:
            self._successors[replacement.joined] = replacement.last.at_ms
        return not repeated or replacement.evidence.proof is Proof.NEW_VERSION

    def _count_failures(self, departed: set[str], replacements: Iterable[Replacement], at_ms: int, now_ms: int) -> None:
        """Process the successors that departed: a later deploy replaces them, too, and then they have not failed."""
        waiting = {name: gone_ms for name, gone_ms in self._unreplaced.items() if gone_ms >= at_ms - PAIR_MS}
        recovering = bool(waiting)
        if len(waiting) + len(departed) <= SUCCESSORS_MAX:
            waiting |= dict.fromkeys(departed, at_ms)
        replaced = {each.gone for each in replacements if each.evidence.proof is Proof.NEW_VERSION}
        self._unreplaced = {name: gone_ms for name, gone_ms in waiting.items() if name not in replaced}
        if departed - replaced:
            self._progress.fail(at_ms, now_ms)
        elif recovering and not self._unreplaced:
            self._progress.recover(now_ms)

    def _add_up(self, paired: Paired, counted: Sequence[Replacement], *, broken: bool) -> None:
        """Add replacements to those that may become a rollout, unless the series of restarts is ``broken``."""
        began_ms = min((replacement.first.at_ms for replacement in self._counted), default=0)
        if broken or paired.others or (paired.missed_ms or 0) > began_ms:
            self._counted = [
                replacement for replacement in self._counted if replacement.evidence.proof is Proof.NEW_VERSION
            ]
            counted = [replacement for replacement in counted if replacement.evidence.proof is Proof.NEW_VERSION]
        self._counted += counted

    def _recognise(self, event: GenerationEvent, now_ms: int) -> RolloutEvent | None:
        if not self._counted:
            return None
        first = min((replacement.first for replacement in self._counted), key=_at)
        if not is_rollout(first.members, [replacement.evidence for replacement in self._counted]):
            return None
        self._current = CurrentRollout(first, first)
        while self._rebalances and self._rebalances[0].at_ms < first.at_ms:
            self._rebalances.pop(0)
        self._extend(self._current, self._counted, event, now_ms)
        self._counted = []
        return self.shown

    def _extend(
        self, current: CurrentRollout, counted: Iterable[Replacement], event: GenerationEvent, now_ms: int
    ) -> None:
        for replacement in counted:
            current.count(replacement, now_ms)
            self._progress.advance(current.first, now_ms)
        while self._rebalances and self._rebalances[0].at_ms <= current.last.at_ms:
            current.add(self._rebalances.pop(0))
        self.shown = current.event(event, closed=False)

    def _forget(self, at_ms: int) -> None:
        if self._current is not None:
            return
        if self._counted and self._counted[-1].last.at_ms < at_ms - QUIET_MS:
            self._counted = []
        since_ms = at_ms - LENGTH_MAX_MS
        self._counted = [replacement for replacement in self._counted if replacement.first.at_ms >= since_ms]
        oldest_ms = min((replacement.first.at_ms for replacement in self._counted), default=at_ms) - QUIET_MS - PAIR_MS
        self._successors = {name: came_ms for name, came_ms in self._successors.items() if came_ms >= oldest_ms}
        while self._rebalances and self._rebalances[0].at_ms < oldest_ms:
            self._rebalances.pop(0)


def _at(rebalance: SettledRebalance) -> int:
    return rebalance.at_ms
