"""Runs the steps of the demo, each when its groups are calm. Pure except for the actions; time comes from a clock.

Steps begin in order, with a pause between them. A step whose groups are not calm for `STEP_SECONDS_MAX` no longer
delays steps of other groups. Steps of different groups may overlap, so that the demo does not wait for a session
timeout. A step ends when each of its groups has been Stable with the expected members for `CALM_SECONDS`. The
group's generation must be newer if the step must cause a rebalance of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rebalance_agent.api.shapes import GroupSummary
from rebalance_agent.clock import Clock
from rebalance_agent.demo.scenario_types import Action, DemoStep
from rebalance_agent.model.group import GroupState
from rebalance_agent.ui.words import plural

__all__ = ["NOT_BEGUN", "StepRun", "StepSchedule", "StepStatus", "stable"]

CALM_SECONDS = 2.0
"""Seconds without change after which a group is calm: a cooperative follow-up of librdkafka comes after one second."""

PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 1.0, 8.0
"""Bounds of the pause between the starts of two steps, in seconds."""

LAST_STEP_SECONDS = 5.0
"""Seconds reserved for the last step."""

STEP_SECONDS_MAX = 40.0
"""Time limit of a step, in seconds; session timeouts, the longest waits, are at most 15 s."""


NOT_BEGUN = "had not begun when the run ended"
"""The problem of a step that waited for its groups until the end of the run."""


class StepStatus(StrEnum):
    """The status of a step."""

    WAITING = "waiting"
    RUNNING = "running"
    OVER = "over"
    FAILED = "failed"


@dataclass(slots=True)
class StepRun:
    """One step and its progress. ``after``: group -> generation when the step began; ``began``: monotonic time.

    ``ended``: group -> summary when the step was over. Both also have the groups that must not change.
    """

    step: DemoStep
    after: dict[str, int] = field(default_factory=dict)
    began: float | None = None
    over: bool = False
    ended: dict[str, GroupSummary] = field(default_factory=dict)
    problem: str = NOT_BEGUN

    @property
    def status(self) -> StepStatus:
        """The status of the step."""
        if self.began is None:
            return StepStatus.WAITING
        if self.over:
            return StepStatus.OVER
        return StepStatus.FAILED if self.problem else StepStatus.RUNNING

    @property
    def running(self) -> bool:
        """Whether the step has begun and is neither over nor failed."""
        return self.status is StepStatus.RUNNING


def stable(group: GroupSummary) -> bool:
    """Return whether the group is Stable and no rebalance is in progress."""
    return group.state is GroupState.STABLE and group.running is None


class StepSchedule:
    """The steps and their progress; call `advance` several times a second."""

    def __init__(
        self,
        steps: Sequence[DemoStep],
        members: Mapping[str, int],
        clock: Clock,
        until: float,
        pause_seconds: float | None = None,
    ) -> None:
        """Prepare the steps. ``members``: group -> number before the first step; ``until``: monotonic end time.

        ``pause_seconds``: pause between the starts of two steps; None: the longest pause for which the time suffices.
        """
        self.runs = tuple(StepRun(step) for step in steps)
        self._members = dict(members)
        self._clock = clock
        self._until = until
        spare_seconds = max(0.0, until - clock.monotonic() - LAST_STEP_SECONDS)
        fitting = min(max(spare_seconds / max(1, len(steps)), PAUSE_SECONDS_MIN), PAUSE_SECONDS_MAX)
        self._pause = fitting if pause_seconds is None else pause_seconds
        self._next_at = clock.monotonic()
        self._passed: set[str] = set()  # the late steps
        self._named: set[str] = set()  # those that `news` has named
        self._calm_since: dict[str, tuple[int, float]] = {}

    @property
    def over(self) -> bool:
        """Whether all steps have ended, except those whose groups do not become calm, or the time is up."""
        ends = (StepStatus.OVER, StepStatus.FAILED)
        ended = all(run.status in ends or run.step.name in self._passed for run in self.runs)
        return ended or self._clock.monotonic() >= self._until

    @property
    def running(self) -> bool:
        """Whether a step is running; `advance` also ends such a step after the time is up."""
        return any(run.running for run in self.runs)

    @property
    def members(self) -> Mapping[str, int]:
        """The number of members that each group has after the steps that have begun."""
        return self._members

    def calm(self, group: str) -> bool:
        """Return whether the group has been Stable with its members in one generation for `CALM_SECONDS`."""
        since = self._calm_since.get(group)
        return since is not None and self._clock.monotonic() - since[1] >= CALM_SECONDS

    def advance(self, groups: Mapping[str, GroupSummary], execute: Callable[[Action], None]) -> None:
        """Update the groups, end the steps that are over, and begin the next step if it can begin."""
        self._update_calm(groups)
        for run in self.runs:
            if run.running:
                self._end(run, groups)
        if not self.over:
            self._begin_next(execute)

    def news(self, groups: Mapping[str, GroupSummary]) -> str:
        """Return, once per step, why a step that is `STEP_SECONDS_MAX` late has not begun; otherwise empty."""
        late = self._passed - self._named
        run = next((run for run in self.runs if run.began is None and run.step.name in late), None)
        if run is None:
            return ""
        self._named.add(run.step.name)
        seen = {group: groups[group].members if group in groups else 0 for group in run.step.groups}
        unready = (
            f"{group} ({plural(seen[group], 'member')}, expected {self._members[group]})"
            for group in run.step.groups
            if not self.calm(group)
        )
        return f"{run.step.name} waits for {', '.join(unready) or 'an earlier step'}"

    def _begin_next(self, execute: Callable[[Action], None]) -> None:
        """Begin the first waiting step that can begin; the steps of one group stay in order."""
        late = self._clock.monotonic() >= self._next_at + STEP_SECONDS_MAX
        held: set[str] = set()
        for run in (run for run in self.runs if run.began is None):
            if held.isdisjoint(run.step.groups) and self._may_begin(run):
                self._begin(run, execute)
                return
            if late:
                self._passed.add(run.step.name)
            if run.step.name not in self._passed:
                return
            held |= set(run.step.groups)

    def _update_calm(self, groups: Mapping[str, GroupSummary]) -> None:
        now = self._clock.monotonic()
        for group, members in self._members.items():
            seen = groups.get(group)
            if seen is None or seen.generation is None or not stable(seen) or seen.members != members:
                self._calm_since.pop(group, None)
            elif self._calm_since.get(group, (None, 0.0))[0] != seen.generation:
                self._calm_since[group] = (seen.generation, now)

    def _may_begin(self, run: StepRun) -> bool:
        touched = set(run.step.groups)
        busy = {group for other in self.runs if other.running for group in other.step.groups}
        return self._clock.monotonic() >= self._next_at and not touched & busy and all(map(self.calm, touched))

    def _begin(self, run: StepRun, execute: Callable[[Action], None]) -> None:
        run.began = self._clock.monotonic()
        run.problem = ""
        due = run.began if run is self.runs[0] else self._next_at
        # A late step must not delay all later steps, so the next pause is shortened.
        self._next_at = max(due + self._pause, run.began + self._pause / 2)
        run.after = {group: self._calm_since[group][0] for group in run.step.groups}
        for expected in run.step.expected:
            del self._calm_since[expected.group]
            self._members[expected.group] = expected.members
        for action in run.step.actions:
            execute(action)

    def _end(self, run: StepRun, groups: Mapping[str, GroupSummary]) -> None:
        changed = {expected.group for expected in run.step.expected}
        behind = [
            group
            for group, after in run.after.items()
            if not self.calm(group) or (group in changed and self._calm_since[group][0] <= after)
        ]
        if not behind:
            run.over = True
            run.ended = {group: groups[group] for group in run.after}
        elif self._clock.monotonic() - (run.began or 0.0) > STEP_SECONDS_MAX:
            run.problem = f"{', '.join(behind)} did not settle within {STEP_SECONDS_MAX:g} s"
