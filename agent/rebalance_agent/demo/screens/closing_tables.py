"""The rows of the tables at the end of the demo, as plain values."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_agent.demo.observed.claims_check import counts_text
from rebalance_agent.demo.observed.summary import Summary
from rebalance_agent.ui.words import UNKNOWN

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
    for step, check in summary.steps:
        for expected in step.expected:
            seen = [episode for episode in step.seen if episode.group == expected.group]
            triggers = _joined(episode.trigger for episode in seen)
            stalls = _joined(f"{one.stall_seconds:.2f} s {one.basis}" for one in seen if one.stall_seconds is not None)
            slowest = _joined(episode.slowest_client_id for episode in seen if episode.slowest_client_id)
            rows.append((step.name, expected.group, triggers, stalls, slowest, check))
    return rows


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(texts) or UNKNOWN
