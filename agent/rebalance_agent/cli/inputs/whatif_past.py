"""Where `whatif` takes a group's past from: an agent, a cluster, or a file of events."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from rebalance_agent.api.group_source import GroupSource
from rebalance_agent.api.query import NotKnownError
from rebalance_agent.api.shapes import RebalanceKind
from rebalance_agent.cli.inputs.cluster_flags import cluster_settings
from rebalance_agent.cli.inputs.groups_access import agent_api, wants_direct
from rebalance_agent.cli.inputs.line_files import lines_of, open_lines
from rebalance_agent.clock import SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.runtime.sinks.split_events import whole_events
from rebalance_agent.runtime.watch.history_reader import read_past

__all__ = ["EVENTS_MAX", "LINE_BYTES_MAX", "WhatIfInput", "find_past"]

LINE_BYTES_MAX = 4 << 20
"""Four times the largest event that brokers take by default."""

EVENTS_MAX = 200_000
"""Events of one group from a file: more take more memory than a command line should."""


@dataclass(frozen=True, slots=True)
class WhatIfInput:
    """One group's events in order, and where they are from, in words."""

    events: tuple[Event, ...]
    source: str


def find_past(options: argparse.Namespace) -> WhatIfInput:
    """The past of ``options.group`` from where the flags say.

    Raises:
        NotKnownError: nobody knows the group.
        RebalanceAgentError: nobody answers, or a flag or a file is wrong.
    """
    direct = wants_direct(options)
    if options.events is not None:
        if direct or options.url:
            raise InvalidInputError("--events", "is for a file alone, without --url and --bootstrap-servers")
        return _from_file(options.events, options.group)
    if direct:
        settings, properties = cluster_settings(options)
        past = read_past(properties, settings.events_topic, options.group, SystemClock())
        if not past.known:
            raise NotKnownError(f"there is no group {options.group!r} in {past.source.splitlines()[0].rstrip('.')}")
        return WhatIfInput(past.events, past.source)
    return _remembered(agent_api(options), options.group)


def _remembered(groups: GroupSource, group: str) -> WhatIfInput:
    lines = groups.rebalances(group).rebalances
    completed = [line for line in reversed(lines) if line.kind is RebalanceKind.COMPLETED]
    events = tuple(event for line in completed for event in _events(groups, group, line.id))
    return WhatIfInput(events, "what the agent has seen since it was started")


def _events(groups: GroupSource, group: str, identity: str) -> Sequence[Event]:
    try:
        return groups.rebalance(group, identity).events
    except NotKnownError:
        return ()  # forgotten meanwhile: the agent keeps the last ones


def _from_file(name: str, group: str) -> WhatIfInput:
    with open_lines("--events", name) as stream:
        events = tuple(whole_events(_of_group(name, stream, group)))
    if not events:
        raise NotKnownError(f"there is no group {group!r} in {name}")
    clusters = sorted({each.cluster_id for each in events if isinstance(each, GenerationEvent)})
    if len(clusters) > 1:
        text = f"{name} has groups {group} of {len(clusters)} clusters, such as {clusters[0]} and {clusters[1]}"
        raise InvalidInputError("--events", f"{text}: leave one of them in it")
    return WhatIfInput(events, name)


def _of_group(name: str, stream: BinaryIO, group: str) -> Iterator[Event]:
    """The group's events, parts of one in a row as `whole_events` wants them."""
    found = 0
    for number, line in lines_of(name, stream, LINE_BYTES_MAX):
        try:
            data = json_object(line)
            if not isinstance(data, dict) or data.get("group") != group:
                continue
            event = event_from_json(data)
        except InvalidInputError as error:
            raise InvalidInputError(f"{name}, line {number}", str(error)) from None
        found += 1
        if found > EVENTS_MAX:
            raise InvalidInputError("--events", f"{name} has more than {EVENTS_MAX} events of {group}: cut it shorter")
        yield event
