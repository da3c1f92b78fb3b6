"""Reads the input of `whatif`: a group's recorded events, from an agent, a cluster or a file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from rebalance_agent.api.group_source import GroupSource
from rebalance_agent.api.query import NotKnownError
from rebalance_agent.api.shapes import RebalanceKind
from rebalance_agent.cli.inputs.agent_api import AgentApi
from rebalance_agent.cli.inputs.groups_access import (
    agent_api,
    agent_source,
    past_in_cluster,
    remembered_rebalances,
    wants_direct,
)
from rebalance_agent.cli.inputs.line_files import open_lines, values_of
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.runtime.sinks.split_events import whole_events
from rebalance_agent.runtime.watch.history_reader import GroupPast
from rebalance_agent.visible_names import did_you_mean, is_text

__all__ = ["EVENTS_MAX", "LINE_BYTES_MAX", "find_past"]

LINE_BYTES_MAX = 4 << 20
"""Maximum number of bytes of a line: four times the largest event that brokers accept by default (1 MiB)."""

EVENTS_MAX = 200_000
"""Maximum number of events of one group in a file; more events would take too much memory for a command."""

OTHERS_MAX = 10_000
"""Maximum number of other groups in a file whose names are compared with the group's name."""

OTHER_CHARACTERS_MAX = 1_000
"""Maximum number of characters of such a name; longer names are not compared."""


def find_past(options: argparse.Namespace) -> GroupPast:
    """Return the events of ``options.group`` from the source that the flags name.

    Raises:
        NotKnownError: the source has no such group, or the agent has no rebalance of the group.
        RebalanceAgentError: the source does not answer, or a flag or a file is wrong.
    """
    direct = wants_direct(options)
    if options.events is not None:
        if direct or options.url:
            raise InvalidInputError("--events", "cannot be combined with --url and --bootstrap-servers")
        return _from_file(options.events, options.group)
    if direct:
        return past_in_cluster(options)
    return _from_agent(agent_api(options), options.group)


def _from_agent(groups: AgentApi, group: str) -> GroupPast:
    lines = remembered_rebalances(groups, group).rebalances
    completed = [line for line in reversed(lines) if line.kind is RebalanceKind.COMPLETED]
    events = tuple(event for line in completed for event in _events(groups, group, line.id))
    if not events:
        text = f"the agent has observed no completed rebalance of {group!r} since its start"
        text = f"{text}; to read earlier ones, use --bootstrap-servers HOST:PORT"
        raise NotKnownError(f"{text} ({unready})" if (unready := groups.unready()) else text)
    return GroupPast(events, agent_source(groups), known=True)


def _events(groups: GroupSource, group: str, identity: str) -> Sequence[Event]:
    try:
        rebalance = groups.rebalance(group, identity)
    except NotKnownError:
        return ()  # the rebalance was evicted meanwhile: the agent keeps only the last rebalances
    return (*rebalance.events, *rebalance.reports)


def _from_file(name: str, group: str) -> GroupPast:
    with open_lines("--events", name) as stream:
        others: set[str] = set()
        events = tuple(whole_events(_of_group(name, stream, group, others)))
    if not events:
        raise NotKnownError(f"there is no group {group!r} in {name}{did_you_mean(group, sorted(others))}")
    clusters = sorted({event.cluster_id for event in events if isinstance(event, GenerationEvent)})
    if len(clusters) > 1:
        text = f"{name} has events of {group} from {len(clusters)} clusters, such as {clusters[0]} and {clusters[1]}"
        raise InvalidInputError("--events", f"{text}: keep only the events of one cluster")
    return GroupPast(events, name, known=True)


def _of_group(name: str, stream: BinaryIO, group: str, others: set[str]) -> Iterator[Event]:
    """Yield the group's events in the order of the file; this order keeps the parts of a split event together.

    The names of other groups are added to ``others``.
    """

    def parsed(line: bytes) -> Event | None:
        data = json_object(line)
        found = data.get("group") if isinstance(data, dict) else None
        if found == group:
            return event_from_json(data)
        if len(others) < OTHERS_MAX and is_text(found, OTHER_CHARACTERS_MAX):
            others.add(found)
        return None

    values: Iterator[tuple[int, Event | None]] = values_of(name, stream, LINE_BYTES_MAX, parsed)
    for count, event in enumerate(event for _, event in values if event):
        if count == EVENTS_MAX:
            raise InvalidInputError(
                "--events", f"{name} has more than {EVENTS_MAX} events of {group}: use a shorter file"
            )
        yield event
