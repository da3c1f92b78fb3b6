"""The contents of the screens as plain values: the state at one moment, and the rows of the closing tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rebalance_agent.demo.observed.claims_check import counts_text
from rebalance_agent.demo.observed.scrape import GroupNow
from rebalance_agent.demo.observed.summary import Summary
from rebalance_agent.demo.stories import StoryGroup
from rebalance_agent.demo.timetable import StepRun
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.ui.words import UNKNOWN, stall_with_basis

__all__ = [
    "GROUP_HEADINGS",
    "STEP_HEADINGS",
    "SUMMARY_HEADINGS",
    "Board",
    "GroupLine",
    "StepLine",
    "StepStatus",
    "group_line",
    "step_line",
    "step_rows",
    "summary_rows",
    "table_text",
]


class StepStatus(StrEnum):
    """The status of a step."""

    WAITING = "waiting"
    RUNNING = "running"
    OVER = "over"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class GroupLine:
    """One group. ``cells``: texts for the columns `GROUP_HEADINGS`; ``episode``: the closing event of its last one."""

    cells: tuple[str, ...]
    episode: GenerationEvent | None


@dataclass(frozen=True, slots=True)
class StepLine:
    """One step of the timetable and its status."""

    name: str
    text: str
    status: StepStatus
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """The state at ``elapsed_seconds`` after the broker was ready; ``addresses``: (name, URL) of its processes."""

    elapsed_seconds: float
    addresses: tuple[tuple[str, str], ...]
    groups: tuple[GroupLine, ...]
    steps: tuple[StepLine, ...]


GROUP_HEADINGS = ("group", "state", "gen", "members", "idle", "last trigger", "last stall", "moved", "skew")
SUMMARY_HEADINGS = ("group", "assignor", "gen", "partitions by member", "rebalances", "stalls in s", "check")
STEP_HEADINGS = ("step", "group", "seen as", "stall", "slowest member", "check")


def group_line(group: StoryGroup, now: GroupNow, episode: GenerationEvent | None) -> GroupLine:
    """Return the line of one group, from its gauges and its last episode."""
    gauges = (_number(value) for value in (now.generation, now.members, now.idle_members))
    last = (episode.trigger, stall_with_basis(episode.stall), str(episode.moved)) if episode else (UNKNOWN,) * 3
    state = (now.state or UNKNOWN).removesuffix("Rebalance")
    skew = UNKNOWN if now.skew is None else f"{now.skew:.2f}"
    return GroupLine((group.name, state, *gauges, *last, skew), episode)


def step_line(run: StepRun) -> StepLine:
    """Return the line of one step."""
    if run.began is None:
        return StepLine(run.step.name, run.step.text, StepStatus.WAITING)
    if run.over:
        return StepLine(run.step.name, run.step.text, StepStatus.OVER)
    status = StepStatus.FAILED if run.problem else StepStatus.RUNNING
    return StepLine(run.step.name, run.step.text, status, run.problem)


def summary_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return the rows of the closing table of groups; the columns are `SUMMARY_HEADINGS`."""
    return [
        (
            name,
            group.assignor,
            _number(group.generation),
            counts_text(group.members) or UNKNOWN,
            str(group.rebalances),
            " ".join(f"{seconds:.2f}" for seconds in group.stall_seconds) or UNKNOWN,
            group.check,
        )
        for name, group in summary.groups.items()
    ]


def step_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return the rows of the closing table of steps, one for each expected group; the columns are `STEP_HEADINGS`."""
    rows: list[tuple[str, ...]] = []
    for step, check in summary.steps:
        for expected in step.expected:
            seen = [episode for episode in step.seen if episode.group == expected.group]
            triggers = _joined(episode.trigger for episode in seen)
            stalls = _joined(f"{one.stall_seconds:.2f} s {one.basis}" for one in seen if one.stall_seconds is not None)
            slowest = _joined(episode.slowest_client_id for episode in seen if episode.slowest_client_id)
            rows.append((step.name, expected.group, triggers, stalls, slowest, check))
    return rows


def table_text(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text with aligned columns."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    lines = [headings, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(texts) or UNKNOWN
