"""``rebalance-agent migrate``: prints whether a group can migrate to KIP-848's protocol, or its progress."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rebalance_agent.advice import RecordedHistory, history_of, what_if
from rebalance_agent.advice.figures import WhatIf
from rebalance_agent.advice.migration.broker_what_if import BrokerOutcome, broker_what_if
from rebalance_agent.advice.migration.migration_report import MigrationReport, report_of
from rebalance_agent.advice.migration.migration_steps import Go, MigrationStep, back_step_of, step_of
from rebalance_agent.advice.migration.readiness import MigrationReadiness, MigrationWishes, readiness
from rebalance_agent.advice.replay.recorded_history import since_last_assignor
from rebalance_agent.api.query import NotKnownError
from rebalance_agent.cli.command_parser import add_command, not_empty
from rebalance_agent.cli.inputs.cluster_flags import add_cluster_flags, cluster_flags_text
from rebalance_agent.cli.inputs.groups_access import past_in_cluster, quiet_logs
from rebalance_agent.cli.inputs.migration_inputs import MigrationInputs, read_inputs
from rebalance_agent.cli.output_flag import add_output_flag, as_csv, as_text, csv_lines
from rebalance_agent.cli.screens.migrate_text import (
    CSV_COLUMNS,
    STEP_COLUMNS,
    as_json,
    csv_rows,
    readiness_text,
    report_json,
    report_text,
    step_text,
    unsettled_text,
    what_if_text,
)
from rebalance_agent.clock import SystemClock
from rebalance_agent.errors import InvalidInputError, RebalanceAgentError
from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.model.group import GroupType

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Shows whether a group can migrate from the classic protocol to the consumer protocol (KIP-848) while the group runs:
what blocks the migration, with the exact setting to change, what is different afterwards, and what the brokers would
have assigned in the group's recorded rebalances. With --watch, the command follows the migration member by member, and
prints whether to go on, wait or stop. With --watch --back, it follows the way back to the classic protocol.

The command changes nothing: it joins no group and changes no setting. Start the new members yourself.
"""

SETTLE_SECONDS_MAX = 15.0
"""Longest wait in seconds for the event of the last rebalance; an observer's default ``settle_seconds`` is 5."""

SETTLE_PAUSE_SECONDS = 1.0
"""Pause in seconds between two reads of the group's events."""

EPILOG = """\
kinds of findings:
  blocks   the broker rejects the first new member while the group has members
  changes  the migration works, but something is different afterwards
  unknown  this command cannot test whether the requirement is met

examples:
  rebalance-agent migrate orders --bootstrap-servers localhost:9092
  rebalance-agent migrate orders --bootstrap-servers localhost:9092 --assignor range --pattern 'orders-.*'
  rebalance-agent migrate orders --bootstrap-servers localhost:9092 --watch
  rebalance-agent migrate orders --bootstrap-servers localhost:9092 --watch --back
  rebalance-agent migrate orders --bootstrap-servers localhost:9092 --json | jq -r '.findings[].setting'

`migrate` needs Read on __consumer_offsets, and DescribeConfigs on the cluster for the brokers' settings.

exit codes: 0 the group can migrate or has migrated, 1 it cannot, or a requirement is unknown, or there is no such
group, 2 wrong usage, or no response; with --watch, 0 all members have migrated, 1 the group is classic again; with
--watch --back, 0 the group is classic again, 1 it cannot go back while members run
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its flags."""
    text = "show whether a group can migrate to the consumer protocol (KIP-848), and the progress of the migration"
    parser = add_command(subparsers, "migrate", text, DESCRIPTION, EPILOG)
    parser.add_argument("group", type=not_empty, metavar="GROUP", help="the group's id")
    parser.add_argument(
        "--assignor",
        metavar="NAME",
        help="group.remote.assignor of the new members (default: the brokers' first assignor)",
    )
    parser.add_argument(
        "--pattern",
        metavar="REGEX",
        action="append",
        default=[],
        help="topic pattern that the new members will use; it is checked against RE2, the brokers' syntax; repeatable",
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="follow the migration until all members have migrated, or the group is classic again",
    )
    parser.add_argument(
        "--back",
        action="store_true",
        help="with --watch: follow the way back, until the group is classic again",
    )
    add_output_flag(
        parser,
        "text",
        csv_rows="finding, or with --watch for each step",
        json_help="short for --output json; with --watch one line per step, then the report (none after NO-GO)",
    )
    add_cluster_flags(parser, "the cluster")
    parser.set_defaults(run=run, exit_codes={NotKnownError: 1, RebalanceAgentError: 2})


def run(options: argparse.Namespace) -> int:
    """Print the answer, or follow the migration; return the exit code."""
    quiet_logs()
    wishes = MigrationWishes(options.assignor, options.pattern)
    if options.assignor == "":
        raise InvalidInputError("--assignor", "must not be empty; omit it to use the brokers' first assignor")
    if options.back and not options.watch:
        raise InvalidInputError("--back", "needs --watch")
    inputs = read_inputs(options)
    if options.watch:
        return _watched(options, inputs, wishes)
    answer = readiness(inputs.group, inputs.limits, wishes)
    report = report_of(inputs.past)
    history = since_last_assignor(history_of(inputs.past))  # as `what_if`: rows of one table count the same rebalances
    compared = _compared(history, inputs, wishes)
    if options.output != "text":
        result = as_json(answer, inputs.broker, step_of(answer), compared, report)
        print(as_csv(CSV_COLUMNS, csv_rows(result)) if options.output == "csv" else as_text(result, options.output))
        return _exit_code(answer)
    print(readiness_text(answer, inputs.broker, cluster_flags_text(options)), end="")
    if compared is not None:
        print(f"\n{what_if_text(*compared)}", end="")
    if report is not None:
        print(f"\n{report_text(report)}", end="")
    return _exit_code(answer)


def _compared(
    history: RecordedHistory, inputs: MigrationInputs, wishes: MigrationWishes
) -> tuple[WhatIf, Sequence[BrokerOutcome]] | None:
    """Return the recorded figures and those of the brokers' assignors; None if no classic rebalance is recorded."""
    if not history.decided or history.group_type is not GroupType.CLASSIC:
        return None
    names = (wishes.assignor,) if wishes.assignor else inputs.limits.assignors or ("uniform", "range")
    outcomes = broker_what_if(history, names, inputs.limits.heartbeat_interval_ms)
    return what_if(history, ()), outcomes


def _watched(options: argparse.Namespace, inputs: MigrationInputs, wishes: MigrationWishes) -> int:
    """Print each step until all members have changed, or the group is classic again; then print the report.

    CSV has no report, because the columns of a report are not those of steps.

    With ``--back``, a group with the consumer protocol is followed until it is classic again, or cannot become classic.
    """
    last, epoch, migrated = None, None, False
    for group in inputs.followed(options):
        if group is None:
            print(f"the group {options.group!r} was deleted: waiting until it exists again", file=sys.stderr)
            continue
        answer = readiness(group, inputs.limits, wishes)
        step = back_step_of(answer) if options.back else step_of(answer, migrated=migrated)
        migrated = migrated or bool(group.of(GroupType.CONSUMER))
        epoch = epoch if inputs.recorded.epoch is None else inputs.recorded.epoch
        if step != last:
            print(_step_written(step, options.output, first=last is None), flush=True)
            last = step
        if step.go in {Go.DONE, Go.BACK}:
            break
        if options.back and step.go is Go.NO_GO and not _may_go_back(answer):
            return 1
    back = step.go is Go.BACK
    exit_code = int(back is not options.back)
    if options.output == "csv":
        return exit_code
    report, complete = _settled_report(options, epoch, back=back)
    if options.output != "text":
        print(_written(report_json(report, complete=complete), options.output))
        return exit_code
    if report is not None:
        print(f"\n{report_text(report)}", end="")
    if not complete:
        print(f"\n{unsettled_text(options.group, cluster_flags_text(options))}", end="")
    return exit_code


def _may_go_back(answer: MigrationReadiness) -> bool:
    """Whether the group can become classic without a stop of all members, or whether that is not known."""
    return answer.group.group_type is GroupType.CONSUMER and answer.online_back is not False


def _settled_report(
    options: argparse.Namespace, epoch: int | None, *, back: bool
) -> tuple[MigrationReport | None, bool]:
    """Return the group's report, and whether it contains the last rebalance.

    This is the rebalance of ``epoch``, or, if the group went ``back``, the first classic one after it. Classic
    generations continue the epochs, but begin at 1 if the group was empty.

    An observer publishes a rebalance some seconds after its end: wait for the event, up to `SETTLE_SECONDS_MAX`.
    """
    clock, never = SystemClock(), threading.Event()
    end = clock.monotonic() + SETTLE_SECONDS_MAX
    kind = GroupType.CLASSIC if back else GroupType.CONSUMER
    while True:
        events = past_in_cluster(options).events
        report = report_of(events)
        complete = epoch is None or any(_closes(event, epoch, kind) for event in events)
        complete = complete or (back and report is not None and report.back)
        if complete or clock.monotonic() >= end:
            return report, complete
        never.wait(SETTLE_PAUSE_SECONDS)


def _closes(event: Event, epoch: int, kind: GroupType) -> bool:
    """Whether this is the event of a settled rebalance of this ``kind`` that ended in ``epoch`` or later."""
    if not (isinstance(event, GenerationEvent) and event.closes_episode):
        return False
    return event.group_type is kind and event.generation >= epoch


def _step_written(step: MigrationStep, form: str, *, first: bool) -> str:
    """Return the step in the chosen form. In CSV, the names of the columns precede the ``first`` step."""
    if form == "text":
        return step_text(step)
    if form == "csv":
        lines = [*csv_lines(STEP_COLUMNS, [asdict(step)])]
        return "\n".join(lines if first else lines[1:])
    return _written(asdict(step), form)


def _written(value: Mapping[str, object], form: str) -> str:
    """Return ``value`` as one line of JSON, or as one document of a YAML stream."""
    return ("---\n" if form == "yaml" else "") + as_text(value, form)


def _exit_code(answer: MigrationReadiness) -> int:
    return 0 if answer.can_change else 1
