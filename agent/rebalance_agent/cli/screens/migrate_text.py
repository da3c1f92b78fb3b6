"""Formats the results of `migrate` as text, as JSON and as rows of CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from rebalance_agent.advice.figures import Figures, WhatIf
from rebalance_agent.advice.migration.broker_what_if import BrokerOutcome
from rebalance_agent.advice.migration.migration_findings import MigrationFinding, Subject, Verdict
from rebalance_agent.advice.migration.migration_report import MigrationReport, Period
from rebalance_agent.advice.migration.migration_steps import Go, MigrationStep, way_back
from rebalance_agent.advice.migration.readiness import MigrationReadiness
from rebalance_agent.model.group import GroupType
from rebalance_agent.ui.words import UNKNOWN, bounds_text, partition_seconds, plural, printable, table_text, wrapped

__all__ = [
    "CSV_COLUMNS",
    "STEP_COLUMNS",
    "as_json",
    "csv_rows",
    "readiness_text",
    "report_json",
    "report_text",
    "step_text",
    "unsettled_text",
    "what_if_text",
]

HEADINGS = ("ASSIGNOR", "SKEW", "WORST", "MOVED", "EXCESS", "STALLED")
CSV_COLUMNS = (
    *("group", "group_type", "assignor", "members", "classic_members", "settings_of_broker", "online", "can_change"),
    *("done", "verdict", "subject", "setting", "text", "fix"),
)
STEP_COLUMNS = tuple(field.name for field in fields(MigrationStep))
"""Columns of the CSV of `--watch`."""


def readiness_text(answer: MigrationReadiness, broker: int, flags: str = "") -> str:
    """Return the answer, its findings and the steps. ``flags``: the cluster's flags for the command in the steps."""
    lines = [f"{printable(answer.group.group)}: {_what(answer)}; settings of broker {broker}.", "", _verdict(answer)]
    for finding in answer.findings:
        lines += ["", *_finding(finding)]
    if answer.online and answer.can_change is not False and not answer.done:
        lines += ["", *_steps(answer, flags)]
    if answer.done and answer.group.members and answer.online_back:
        lines += ["", *_steps_back(answer, flags)]
    return "\n".join(lines) + "\n"


def _what(answer: MigrationReadiness) -> str:
    group = answer.group
    if not group.members:
        return f"an empty {group.group_type} group"
    if group.group_type is GroupType.CLASSIC:
        assignor = f" with {printable(group.assignor)}" if group.assignor else ""
        return f"{plural(len(group.members), 'classic member')}{assignor}"
    classic = len(group.of(GroupType.CLASSIC))
    return f"a {group.group_type} group of {plural(len(group.members), 'member')}, {classic} of them classic"


def _verdict(answer: MigrationReadiness) -> str:
    if answer.done:
        return "Nothing to do: all members use the consumer protocol (KIP-848)."
    if answer.online is None:
        return wrapped("It is not known whether its members can change to the consumer protocol while the group runs.")
    if not answer.online:
        return wrapped("No: its members cannot change to the consumer protocol (KIP-848) while the group runs.")
    change = "its members can change to the consumer protocol (KIP-848) one by one, while the group runs"
    if not answer.group.members:
        change = "the group has no members; start them with the consumer protocol (KIP-848)"
    if answer.none_able:
        return wrapped(
            "No: the brokers allow it, but no member has a client that supports the consumer protocol (KIP-848)."
        )
    some = any(finding.subject is Subject.CLIENTS for finding in answer.of(Verdict.CHANGES))
    rest = " Members whose library does not support it stay classic." if some else ""
    if answer.can_change is None:
        return wrapped(f"Not known: {change}, if the unknown requirements below are met.{rest}")
    return wrapped(f"Yes: {change}.{rest}")


def _finding(finding: MigrationFinding) -> Iterator[str]:
    yield wrapped(f"{finding.verdict}: {printable(finding.text)}.")
    if finding.fix:
        yield wrapped(printable(finding.fix), "    ")


def _steps(answer: MigrationReadiness, flags: str) -> Iterator[str]:
    yield "Steps:"
    number = len(answer.group.of(GroupType.CLASSIC))
    yield wrapped(
        "1. In the members' configuration set group.protocol=consumer, and remove partition.assignment.strategy, "
        "session.timeout.ms and heartbeat.interval.ms, which clients reject with group.protocol=consumer.",
        "  ",
    )
    if number:
        members = "the member" if number == 1 else f"the {plural(number, 'member')} one by one. Begin with one"
        yield wrapped(f"2. Restart {members}, and watch the group:", "  ")
        yield f"       rebalance-agent migrate {printable(answer.group.group)} --watch{printable(flags)}"
    else:
        yield "  2. Start the members."
    yield wrapped(
        f"To go back, {way_back(answer, gradual=number > 0)}. Committed offsets are kept in both directions.",
        "  ",
    )


def _steps_back(answer: MigrationReadiness, flags: str) -> Iterator[str]:
    yield wrapped(
        f"To go back, {way_back(answer, gradual=True)}, one by one. Committed offsets are kept. This command shows "
        "when to restart the next member:"
    )
    yield f"    rebalance-agent migrate {printable(answer.group.group)} --watch --back{printable(flags)}"


def what_if_text(recorded: WhatIf, outcomes: Sequence[BrokerOutcome]) -> str:
    """Return a table that compares the recorded rebalances with the brokers' assignors."""
    name = printable(recorded.assignor) if recorded.assignor else "the last assignor is unknown"
    upper = recorded.recorded_upper
    rows = [_row(f"{name} (recorded)", recorded.recorded, upper)]
    rows += [
        _row(outcome.assignor, outcome.figures, outcome.stalled_max) for outcome in outcomes if not outcome.refused
    ]
    lines = [
        wrapped(
            "This table compares the brokers' assignors with the group's assignor, in "
            f"{plural(recorded.recorded.generations, 'recorded rebalance')}. STALLED is in partition-seconds: the "
            "lower and upper bound of the recorded stalls, and the expected and longest stalls with the brokers' "
            "assignors:"
        ),
        "",
        table_text(HEADINGS, rows, right=range(1, len(HEADINGS))),
    ]
    lines += [
        wrapped(f"Not replayed: {outcome.assignor}: {outcome.refused}.") for outcome in outcomes if outcome.refused
    ]
    if longer := [outcome.assignor for outcome in outcomes if _stalls_longer(outcome.figures, recorded)]:
        lines += ["", wrapped(f"With {' and '.join(longer)}, stalls are expected to be longer than the recorded ones.")]
    return "\n".join(lines) + "\n"


def _stalls_longer(expected: Figures, recorded: WhatIf) -> bool:
    """Whether the expected stalls are certainly longer: they exceed the upper bound of the recorded stalls."""
    upper = recorded.recorded_upper
    if upper is None or not expected.stalls or not recorded.recorded.stalls:
        return False
    return expected.stalled_partition_seconds > upper


def _row(name: str, figures: Figures, stalled_max: float | None) -> tuple[str, ...]:
    """Return a row; ``stalled_max``: the upper bound, or the maximum, of the stalls, None if unknown."""
    skew = figures.skew_mean
    return (
        name,
        UNKNOWN if skew is None else f"{skew:.2f}",
        f"{figures.skew_max:.2f}",
        str(figures.moved),
        str(figures.excess),
        bounds_text(figures.stalled_partition_seconds, stalled_max, partition_seconds) if figures.stalls else UNKNOWN,
    )


def step_text(step: MigrationStep) -> str:
    """Return one line with the progress of the migration and whether to continue."""
    new, reason = step.members - step.classic, printable(step.reason)
    if step.way_back and (step.go in {Go.WAIT, Go.NO_GO} or not new):
        reason += f"; to go back, {step.way_back}"
    return f"{step.go.upper():5}  {new} of {plural(step.members, 'member')} on the consumer protocol: {reason}"


def report_text(report: MigrationReport) -> str:
    """Return a table with the periods before and after the migration, and after the way back."""
    periods = [("before", report.before), ("since the migration", report.since), ("classic again", report.returned)]
    rows = [_period(name, period) for name, period in periods if period is not None]
    table = table_text(("", "ASSIGNOR", "REBALANCES", "MOVED", "STALLED", "SKEW"), rows, right=range(2, 6))
    back = "\nThe group is classic again.\n" if report.back else ""
    return f"{table}\n{back}"


def unsettled_text(group: str, flags: str) -> str:
    """Return the sentence for a last rebalance without an event, and a later command with ``flags`` of the cluster."""
    return (
        "The last rebalance is not recorded yet. This command later prints the table with that rebalance:\n"
        f"    rebalance-agent migrate {printable(group)}{printable(flags)}\n"
    )


def _period(name: str, period: Period) -> tuple[str, ...]:
    skew = period.skew_ratio
    return (
        name,
        printable(period.assignor or UNKNOWN),
        str(period.rebalances),
        str(period.moved),
        bounds_text(period.stalled_min, period.stalled_max, partition_seconds),
        UNKNOWN if skew is None else f"{skew:.2f}",
    )


def as_json(
    answer: MigrationReadiness,
    broker: int,
    step: MigrationStep,
    what_if: tuple[WhatIf, Sequence[BrokerOutcome]] | None,
    report: MigrationReport | None,
) -> dict[str, object]:
    """Return the whole result as a JSON-ready object."""
    group = answer.group
    return {
        "group": group.group,
        "group_type": group.group_type,
        "assignor": group.assignor,
        "members": len(group.members),
        "classic_members": len(group.of(GroupType.CLASSIC)),
        "settings_of_broker": broker,
        "online": answer.online,
        "can_change": answer.can_change,
        "done": answer.done,
        "step": asdict(step),
        "findings": [asdict(finding) for finding in answer.findings],
        "what_if": None if what_if is None else _what_if_json(*what_if),
        "report": None if report is None else asdict(report),
    }


def csv_rows(result: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a row for each finding of the JSON result; a group without findings has one row, with the answer only."""
    for finding in result["findings"] or [{}]:
        yield {**result, **finding}


def report_json(report: MigrationReport | None, *, complete: bool) -> dict[str, object]:
    """Return the report at the end of `--watch` as a JSON-ready object. ``complete``: it has the last rebalance."""
    return {"report": None if report is None else asdict(report), "complete": complete}


def _what_if_json(what_if: WhatIf, outcomes: Sequence[BrokerOutcome]) -> dict[str, object]:
    upper = what_if.recorded_upper if what_if.recorded.stalls else None
    return {
        "recorded": _figures(what_if.recorded) | {"upper_stalled_partition_seconds": upper},
        "brokers": [
            {
                "assignor": outcome.assignor,
                "refused": outcome.refused,
                **_figures(outcome.figures),
                "stalled_partition_seconds_max": outcome.stalled_max,
            }
            for outcome in outcomes
        ],
    }


def _figures(figures: Figures) -> dict[str, object]:
    return {
        "rebalances": figures.generations,
        "moved": figures.moved,
        "excess": figures.excess,
        "skew_mean": figures.skew_mean,
        "skew_max": figures.skew_max if figures.generations else None,
        "stalled_partition_seconds": figures.stalled_partition_seconds if figures.stalls else None,
    }
