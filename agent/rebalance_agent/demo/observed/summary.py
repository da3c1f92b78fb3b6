"""Summarises the demo's result as one value: groups, steps with their episodes, and the differences in the check.

`to_json` returns the form for ``--summary FILE``; the closing tables show the same value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rebalance_agent.demo.observed.differences import (
    CoordinatorView,
    SeenStep,
    group_differences,
    owned_counts,
    slowest_client,
    step_differences,
    strategy_differences,
)
from rebalance_agent.demo.observed.gauges import GroupGauges
from rebalance_agent.demo.scenario_types import DemoGroup, SlowDown
from rebalance_agent.demo.step_schedule import NOT_BEGUN, StepRun
from rebalance_agent.model.episode import Stall, Trigger
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.ui.words import plural

__all__ = [
    "NOT_CHECKED",
    "OK",
    "GroupOutcome",
    "Summary",
    "seen_steps",
    "summarise",
    "to_json",
]

OK = "ok"
NOT_CHECKED = "needs --check"
SLOW_MACHINE_SECONDS = 240
"""The smallest ``--seconds`` to suggest after a run that was too short for all steps."""

UNREAD = "the events could not be read"
"""The problem of a step without seen episodes if no events were read."""


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """One group after the demo. ``members``: client id -> number of partitions; ``stall_seconds``: one per episode.

    ``handovers``: the stalls of members that were replaced without a rebalance. ``seats``: client id -> client id
    of the consumer that has this member's seat now, for seats that were handed over.
    """

    client: str
    assignor: str
    group_type: str | None
    generation: int | None
    members: Mapping[str, int]
    rebalances: int
    stall_seconds: tuple[float, ...]
    check: str
    handovers: tuple[Stall, ...] = ()
    seats: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Summary:
    """The groups by name, the steps in order, each with the result of the step's check, and all differences.

    ``notes``: sentences about steps or differences that the run could not show.
    """

    groups: Mapping[str, GroupOutcome]
    steps: tuple[tuple[SeenStep, str], ...]
    differences: tuple[str, ...]
    notes: tuple[str, ...] = ()


def seen_steps(
    runs: Sequence[StepRun], episodes: Mapping[str, Sequence[GenerationEvent]], unread: str = ""
) -> tuple[SeenStep, ...]:
    """Return each step with the episodes of its groups between its start and the start of the group's next step.

    ``unread``: why the events could not be read; if it is set, a step without seen episodes has the problem `UNREAD`.
    """
    steps = []
    for index, run in enumerate(runs):
        seen: list[GenerationEvent] = []
        for group, after in run.after.items():
            until = next((later.after[group] for later in runs[index + 1 :] if group in later.after), math.inf)
            seen += [event for event in episodes[group] if after < event.generation <= until]
        problem = run.problem or ("" if seen or not unread else UNREAD)
        steps.append(SeenStep(run.step, tuple(seen), problem, run.ended))
    return tuple(steps)


def summarise(
    groups: tuple[DemoGroup, ...],
    episodes: Mapping[str, Sequence[GenerationEvent]],
    gauges: Mapping[str, GroupGauges],
    steps: tuple[SeenStep, ...],
    coordinator: Mapping[str, CoordinatorView] | None,
    unread: str = "",
    seconds: float = 0,
) -> Summary:
    """Build the summary. Without the ``coordinator``'s state, only the rows of steps show differences.

    ``episodes``: the closing events of each group, oldest first. ``unread``: why no events could be read; empty if
    events could be read. ``seconds``: the length of the run; 0 if it had no limit.
    """
    differences: list[str] = []
    rows = {}
    for group in groups:
        events, lines = episodes[group.name], []
        newest = events[-1] if events else None
        if coordinator is not None:
            theirs = coordinator[group.name]
            lines = group_differences(newest, gauges[group.name], theirs)
            lines += strategy_differences(group.assignor, theirs)
            differences += [f"group {group.name}: {line}" for line in lines]
        rows[group.name] = GroupOutcome(
            client=group.client,
            assignor=(newest and newest.assignor) or group.assignor,
            group_type=newest.group_type if newest else None,
            generation=newest.generation if newest else None,
            members=owned_counts(newest) if newest else {},
            rebalances=len(events),
            stall_seconds=tuple(event.stall.lower_seconds for event in events if event.stall),
            check=NOT_CHECKED if coordinator is None else "; ".join(lines) or OK,
            handovers=tuple(
                event.stall for event in events if event.stall and event.trigger == Trigger.MEMBER_REPLACED
            ),
            seats={
                member.client_id: member.occupant.client_id
                for member in (newest.members if newest else ())
                if member.occupant
            },
        )
    checked = [(step, step_differences(step)) for step in steps]
    if coordinator is not None:
        differences += [f"step {seen.step.name}: {line}" for seen, lines in checked for line in lines]
    return Summary(
        rows,
        tuple((step, "; ".join(lines) or OK) for step, lines in checked),
        tuple(differences),
        tuple(_notes(steps, unread, seconds)),
    )


def _notes(steps: Sequence[SeenStep], unread: str, seconds: float) -> Iterator[str]:
    if unread:
        yield f"{UNREAD}, so rebalances are missing from the tables: {unread}"
    late = sum(step.problem == NOT_BEGUN for step in steps)
    if late and seconds:
        longer = f"--seconds {max(SLOW_MACHINE_SECONDS, 2 * seconds):g}"
        yield (
            f"{late} of {plural(len(steps), 'step')} did not begin in time: this machine was too slow for a run of "
            f'{seconds:g} s. Use {longer} (make demo ARGS="{longer}").'
        )


def to_json(summary: Summary) -> dict[str, Any]:
    """Return the JSON form of the summary, for ``--summary FILE``."""
    slow = ((seen.seen, seen.step.slow) for seen, _ in summary.steps if seen.step.slow is not None)
    return {
        "groups": {name: asdict(group) for name, group in summary.groups.items()},
        "steps": [
            {
                "name": seen.step.name,
                "expected": [{"group": expected.group, "trigger": expected.trigger} for expected in seen.step.expected],
                "unchanged": list(seen.step.unchanged),
                "seen": [_episode_json(event) for event in seen.seen],
                "topics_on_one_host": {
                    group: spread.on_one_host for group in seen.ended if (spread := seen.host_spread(group))
                },
                "check": check,
            }
            for seen, check in summary.steps
        ],
        "slow_consumer": next((_slow_json(*found) for found in slow), None),
        "differences": list(summary.differences),
    }


def _episode_json(event: GenerationEvent) -> dict[str, Any]:
    return {
        "group": event.group,
        "trigger": event.trigger,
        "generation": event.generation,
        "causes": event.causes,
        **_stall_json(event),
        "slowest": slowest_client(event),
    }


def _slow_json(events: Sequence[GenerationEvent], slow: SlowDown) -> dict[str, Any]:
    event = next((event for event in events if event.group == slow.group), None)
    return {
        "client_id": slowest_client(event) if event else None,
        "group": slow.group,
        "delay_seconds": slow.seconds,
        **_stall_json(event),
    }


def _stall_json(event: GenerationEvent | None) -> dict[str, Any]:
    stall = event.stall if event else None
    return {"stall_seconds": stall.lower_seconds if stall else None, "basis": stall.basis if stall else None}
