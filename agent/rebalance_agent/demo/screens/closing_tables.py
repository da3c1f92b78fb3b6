"""The rows of the tables at the end of the demo, as plain values."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_agent.demo.observed.differences import counts_text, expected_differences, slowest_client
from rebalance_agent.demo.observed.summary import OK, Summary
from rebalance_agent.ui.words import UNKNOWN, stall_text

__all__ = ["STEP_HEADINGS", "SUMMARY_HEADINGS", "step_rows", "summary_rows"]

SUMMARY_HEADINGS = ("group", "assignor", "gen", "partitions by member", "rebalances", "stalls in s", "check")
STEP_HEADINGS = ("step", "group", "seen as", "stall", "slowest member", "check")


def summary_rows(summary: Summary) -> list[tuple[str, ...]]:
    """Return the rows of the closing table of groups; the columns are `SUMMARY_HEADINGS`."""
    return [
        (
            name,
            group.assignor,
            UNKNOWN if group.generation is None else str(group.generation),
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
    for seen_step, _ in summary.steps:
        for expected in seen_step.step.expected:
            seen = [event for event in seen_step.seen if event.group == expected.group]
            triggers = _joined(event.trigger for event in seen)
            stalls = _joined(f"{stall_text(event.stall)} {event.stall.basis}" for event in seen if event.stall)
            slowest = _joined(filter(None, map(slowest_client, seen)))
            check = "; ".join(expected_differences(seen_step, expected)) or OK
            rows.append((seen_step.step.name, expected.group, triggers, stalls, slowest, check))
    return rows


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(texts) or UNKNOWN
