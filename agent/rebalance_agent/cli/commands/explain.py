"""``rebalance-agent explain``: prints why a group's last rebalances happened and what they cost, in sentences."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rebalance_agent.advice import RecordedHistory, advise, history_of
from rebalance_agent.api.query import NotKnownError
from rebalance_agent.api.shapes import GroupDetail, RebalanceDetail, RebalanceKind
from rebalance_agent.cli.command_parser import add_command, moment_ms, not_empty, whole_number
from rebalance_agent.cli.inputs.agent_api import AgentApi
from rebalance_agent.cli.inputs.groups_access import (
    add_access_flags,
    add_host_flag,
    agent_api,
    agent_source,
    host_names,
    past_in_cluster,
    quiet_logs,
    remembered_rebalances,
    wants_direct,
)
from rebalance_agent.cli.output_flag import add_output_flag, as_csv, as_text
from rebalance_agent.errors import RebalanceAgentError
from rebalance_agent.model.event_json import event_to_json, value_to_json
from rebalance_agent.model.events import Event
from rebalance_agent.ui.sentences.catch_up_text import catch_up_text, lag_text
from rebalance_agent.ui.sentences.dead_letter_text import dead_letter_text
from rebalance_agent.ui.sentences.deliveries_text import deliveries_text
from rebalance_agent.ui.sentences.empty_text import gaps_text
from rebalance_agent.ui.sentences.explained.observed_rebalances import every_event
from rebalance_agent.ui.sentences.explanation import LAST_MAX, last_rebalances, paragraphs, whole_rebalances
from rebalance_agent.ui.sentences.former_owner import former_owner_text
from rebalance_agent.ui.sentences.topology_text import topology_text
from rebalance_agent.ui.sentences.unsettled import running_text, unsettled_text
from rebalance_agent.ui.task_words import group_tasks_text
from rebalance_agent.ui.words import moment_to_second, plural, printable, wrapped

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Explains a group's last rebalances: when and why they happened, which member was slow, what moved, how long partitions
were stalled and how that was measured, and what would have helped.
"""

EXAMPLES = """\
examples:
  rebalance-agent explain orders
  rebalance-agent explain orders --last 10 --url http://observer:29308
  rebalance-agent explain orders --since 2026-05-04T09:00:00Z --bootstrap-servers localhost:9092
  rebalance-agent explain orders --json | jq '.rebalances[].rebalance.stall'

An agent keeps at most the last 50 rebalances of each group since the agent's start. Without an agent, the command
reads the topic rebalance-events if it exists, and otherwise __consumer_offsets; the first line names the source.

exit codes: 0 done, 1 the group is unknown, 2 wrong usage, or no response
"""


COLUMNS = (
    *("timestamp_ms", "generation", "previous_generation", "trigger", "causes", "assignor", "protocol"),
    *(
        "stall.lower_seconds",
        "stall.seconds",
        "stall.partition_seconds",
        "stall.upper_partition_seconds",
        "stall.basis",
    ),
    *("moved", "needed", "members", "slowest.client_id", "slowest.seconds", "id"),
)
"""Columns of CSV: fields of a rebalance in the API."""

LAST_DEFAULT = 3
"""Number of rebalances that are explained by default."""


@dataclass(frozen=True, slots=True)
class _GroupPast:
    """A group's rebalances (newest first) and rollouts, the description of their source, and the whole ``history``.

    ``now``: the group's present state. Only an agent has this state, because an agent measures the lag and combines
    the members' reports with the records.
    """

    source: str
    details: Sequence[RebalanceDetail]
    rollouts: Sequence[Event]
    history: RecordedHistory
    now: GroupDetail | None = None


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its flags."""
    parser = add_command(subparsers, "explain", "a group's last rebalances in sentences", DESCRIPTION, EXAMPLES)
    parser.add_argument("group", type=not_empty, metavar="GROUP", help="the group's id")
    parser.add_argument(
        "--last",
        type=whole_number(1, LAST_MAX),
        metavar="N",
        help=f"number of rebalances (default {LAST_DEFAULT}; with --since: all)",
    )
    parser.add_argument(
        "--since",
        type=moment_ms,
        metavar="TIME",
        help="only rebalances since this time: ISO 8601, or epoch milliseconds",
    )
    add_output_flag(
        parser, "text", csv_rows="rebalance", json_help="short for --output json, which includes the complete events"
    )
    add_host_flag(parser)
    add_access_flags(parser)
    parser.set_defaults(run=run, exit_codes={NotKnownError: 1, RebalanceAgentError: 2})


def run(options: argparse.Namespace) -> int:
    """Explain one group, and return the exit code."""
    quiet_logs()
    hosts = host_names(options)
    past = _from_cluster(options) if wants_direct(options) else _from_agent(agent_api(options), options)
    last = _number(options, past.details)
    texts = paragraphs(past.details, past.rollouts, last, advise(past.history, hosts=hosts))
    texts += _present(past.now) if past.now else []
    if options.output != "text":
        explained = _as_json(options.group, past, texts, last)
        rebalances = (detail["rebalance"] for detail in explained["rebalances"])
        print(as_csv(COLUMNS, rebalances) if options.output == "csv" else as_text(explained, options.output))
        return 0
    since = f" since {moment_to_second(options.since)}" if options.since is not None else ""
    number = _how_many(past.details, last) or f"no {'settled ' if _unsettled(past.now) else ''}rebalance"
    print(f"{printable(options.group)}: {number}{since}, from {past.source}.")
    if not past.details and past.now:
        generation = past.now.summary.generation
        if generation and not _unsettled(past.now):
            before = "the agent's start" if options.since is None else "that time"
            text = f"its rebalances happened before {before}, or are no longer stored"
            print(f"The group is at generation {generation:,}: {text}.")
        print("To explain earlier rebalances, use --bootstrap-servers HOST:PORT.")
    for text in texts:
        print(f"\n{text}")
    return 0


def _from_agent(groups: AgentApi, options: argparse.Namespace) -> _GroupPast:
    remembered = remembered_rebalances(groups, options.group)
    details = last_rebalances(groups, remembered, LAST_MAX)
    history = history_of(every_event(details))
    now = groups.group(options.group)
    return _GroupPast(agent_source(groups), details, remembered.rollouts, history, now)


def _from_cluster(options: argparse.Namespace) -> _GroupPast:
    past = past_in_cluster(options)
    details, rollouts = whole_rebalances(past.events, LAST_MAX)
    return _GroupPast(past.source, details, rollouts, history_of(past.events))


def _unsettled(now: GroupDetail | None) -> list[str]:
    """Return sentences on the rebalances that cannot be explained yet; without an agent there are none."""
    texts = (unsettled_text(now.summary), running_text(now.summary, now.now_ms)) if now else ()
    return [wrapped(text) for text in texts if text]


def _present(now: GroupDetail) -> list[str]:
    """Return sentences on the group now: unsettled rebalances, gaps, two owners, tasks, topology, and lag."""
    group, texts = now.summary, _unsettled(now)
    if text := gaps_text(group):
        texts.append(wrapped(f"Now: {text}."))
    if group.former_owner:
        texts.append(wrapped(f"Two owners: {former_owner_text(group.former_owner)}."))
    if text := group_tasks_text(now.members):
        texts.append(wrapped(f"{text}."))
    if now.topology:
        texts.append(wrapped(f"{topology_text(now.topology)}."))
    return texts + [wrapped(f"{text}.") for text in _consumption(now)]


def _consumption(now: GroupDetail) -> Iterator[str]:
    """Yield the lag, a share group's deliveries and dead letter queue, and the catching up of moved partitions."""
    group = now.summary
    for text in (lag_text(group), deliveries_text(now.deliveries), dead_letter_text(now.dead_letter_queue)):
        if text:
            yield text[:1].upper() + text[1:]
    if group.lag and (text := catch_up_text(group.lag.catch_up)):
        yield text


def _completed(details: Sequence[RebalanceDetail]) -> list[RebalanceDetail]:
    return [detail for detail in details if detail.rebalance.kind is RebalanceKind.COMPLETED]


def _number(options: argparse.Namespace, details: Sequence[RebalanceDetail]) -> int:
    """Return the number of last rebalances to explain."""
    last: int | None = options.last
    since: int | None = options.since
    if since is None:
        return last or LAST_DEFAULT
    later = sum(detail.rebalance.timestamp_ms >= since for detail in _completed(details))
    return min(last or LAST_MAX, later)


def _how_many(details: Sequence[RebalanceDetail], last: int) -> str:
    """Describe how many rebalances are explained ("" for 0); ``details`` has ``last`` + 1 if there are more."""
    completed = _completed(details)
    if not (completed and last):
        return ""
    if len(completed) <= last:
        emptied = sum(not detail.rebalance.members for detail in completed)
        # A change to Empty has an entry, but no member rebalanced: metrics and `watch` do not count it.
        text = plural(len(completed) - emptied, "rebalance")
        return f"{text} and {plural(emptied, 'change')} to Empty" if emptied else text
    return f"the last {last} rebalances" if last > 1 else "the last rebalance"


def _as_json(group: str, past: _GroupPast, texts: Sequence[str], last: int) -> dict[str, Any]:
    return {
        "group": group,
        "source": past.source,
        "text": list(texts),
        "rebalances": [value_to_json(detail) for detail in _completed(past.details)[:last]],
        "rollouts": [event_to_json(rollout) for rollout in past.rollouts],
    }
