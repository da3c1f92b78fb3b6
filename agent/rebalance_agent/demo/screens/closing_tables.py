"""Computes the rows of the tables at the end of the demo, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rebalance_agent.demo.observed.differences import (
    counts_text,
    expected_differences,
    slowest_client,
    unchanged_differences,
)
from rebalance_agent.demo.observed.summary import NOT_CHECKED, OK, GroupOutcome, Summary
from rebalance_agent.ui.words import UNKNOWN, stall_text

__all__ = [
    "DEPLOY_HEADINGS",
    "DEPLOY_TITLE",
    "STEP_HEADINGS",
    "deploy_rows",
    "step_rows",
    "summary_table",
]

STEP_HEADINGS = ("step", "group", "observed triggers", "check", "stall", "slowest member")
DEPLOY_TITLE = "The deploy replaced the same consumers in both groups:"
DEPLOY_HEADINGS = ("group", "rebalances during the deploy", "seats handed over", "partition-seconds stalled")

NO_REBALANCE = "no rebalance"
"""The text for a group that a step must not change."""


def summary_table(summary: Summary) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return the headings and the rows of the closing table of groups; without a check, it has no column for it.

    The handover of a seat to another consumer is an episode, but not a rebalance of the group.
    """
    checked = any(group.check != NOT_CHECKED for group in summary.groups.values())
    headings = (
        *("group", "assignor", "gen", "rebalances"),
        *(("check",) if checked else ()),
        *("seats handed over", "stall, at least (s)", "partitions by member"),
    )
    rows = [
        (
            name,
            group.assignor,
            UNKNOWN if group.generation is None else str(group.generation),
            str(group.rebalances - len(group.handovers)),
            *((group.check,) if checked else ()),
            str(len(group.handovers)),
            " ".join(f"{seconds:.2f}" for seconds in group.stall_seconds) or UNKNOWN,
            counts_text({_seat_text(client, group): count for client, count in group.members.items()}) or UNKNOWN,
        )
        for name, group in summary.groups.items()
    ]
    return headings, rows


def _seat_text(client: str, group: GroupOutcome) -> str:
    """Return the name of a member: the coordinator keeps the client id of the consumer that first had the seat."""
    return f"{group.seats[client]} in the seat of {client}" if client in group.seats else client


def step_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return the rows of the closing table of steps, one for each expected group; the columns are `STEP_HEADINGS`."""
    rows: list[tuple[str, ...]] = []
    for seen_step, _ in summary.steps:
        for expected in seen_step.step.expected:
            seen = seen_step.of(expected.group)
            triggers = _joined(event.trigger for event in seen)
            stalls = _joined(f"{stall_text(event.stall)} {event.stall.basis}" for event in seen if event.stall)
            slowest = _joined(filter(None, map(slowest_client, seen)))
            check = "; ".join(expected_differences(seen_step, expected)) or OK
            rows.append((seen_step.step.name, expected.group, triggers, check, stalls, slowest))
        for group in seen_step.step.unchanged:
            triggers = _joined(event.trigger for event in seen_step.of(group))
            check = "; ".join(unchanged_differences(seen_step, group)) or OK
            shown = NO_REBALANCE if check == OK else triggers
            rows.append((seen_step.step.name, group, shown, check, UNKNOWN, UNKNOWN))
    return rows


def deploy_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return the rows under `DEPLOY_HEADINGS`: the groups of one deployment, some of which must not rebalance.

    There are no rows if a step of the deployment has a problem: then the deployment was not observed as a whole.
    """
    steps = [seen for seen, _ in summary.steps if seen.step.unchanged]
    if any(seen.problem for seen in steps):
        return []
    groups = dict.fromkeys(group for seen in steps for group in seen.step.groups)
    rows: list[tuple[str, ...]] = []
    for group in groups:
        rebalances, handovers = [event for seen in steps for event in seen.of(group)], summary.groups[group].handovers
        stalls = (*(event.stall for event in rebalances if event.stall), *handovers)
        least = sum(stall.partition_seconds for stall in stalls)
        rows.append((group, str(len(rebalances)), str(len(handovers)), f"at least {least:.1f}"))
    return rows


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(texts) or UNKNOWN
