"""Inputs of commands: files from others, and an agent's answers, whose names are printed on a terminal."""

from __future__ import annotations

import base64
import json
from functools import cache

from fuzz.target import KB, MB, Target, read_or_refused
from rebalance_agent.api.shapes import GroupDetail, GroupList, RebalanceDetail, RebalanceList
from rebalance_agent.cli.inputs.assign_io import group_from_json
from rebalance_agent.cli.inputs.json_fields import parse_json
from rebalance_agent.cli.inputs.raw_records import raw_record
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import json_object, value_from_json
from rebalance_agent.ui.sentences.explanation import paragraphs
from rebalance_agent.ui.sentences.group_detail import (
    GroupCloseUp,
    headline,
    member_table,
    move_rows,
    moves_title,
    rebalance_rows,
)
from rebalance_agent.ui.sentences.group_table import group_rows, groups_text
from support.http.api import api_of, ask
from support.kafka.captured import CAPTURED
from support.observer.views import full_view
from support.tracker.histories import clustered

__all__ = ["TARGETS"]

GROUP = {
    "id": "g",
    "topics": {"t": {"partitions": 5}, "u": {"partitions": 1, "loads": [2.5], "racks": [["r1"]]}},
    "members": [{"id": "m1", "topics": ["t"]}, {"id": "m2", "topics": ["t", "nowhere"], "rack": "r1"}],
}
ASKED = {
    b"groups": GroupList,
    b"group": GroupDetail,
    b"rebalances": RebalanceList,
    b"rebalance": RebalanceDetail,
}


def take_record_line(data):
    """A line of ``decode``, ``verify --records`` and ``pipeline backfill``."""
    record = read_or_refused(raw_record, data, InvalidInputError)
    assert record is None or isinstance(record.key, bytes)


def take_group_file(data):
    """A group as ``assign`` takes it."""
    read_or_refused(lambda text: group_from_json(parse_json(text), {}), data, InvalidInputError)


def take_agent_answer(data):
    """The first line is the request, the rest an agent's response, as ``watch`` and ``explain`` print it."""
    asked, _, body = data.partition(b"\n")
    kind = ASKED.get(asked, GroupDetail)
    found = read_or_refused(lambda text: value_from_json(kind, json_object(text)), body, InvalidInputError)
    for text in _printed(found):
        assert all(line.isprintable() for line in text.split("\n")), text


def _printed(found):
    match found:
        case GroupList():
            return [groups_text(group_rows(found))]
        case GroupDetail():
            return _closer(GroupCloseUp(found, (), None, None))
        case RebalanceList():
            return _closer(GroupCloseUp(usual(), found.rebalances, None, None))
        case RebalanceDetail():
            return [*paragraphs([found], (), 1), *_closer(GroupCloseUp(usual(), (found.rebalance,), found, None))]
    return []


def _closer(closer):
    moves, (titles, members) = move_rows(closer), member_table(closer)
    rows = [*rebalance_rows(closer), *members, titles, *moves]
    return [headline(closer), moves_title(closer, moves), *(cell for row in rows for cell in row)]


@cache
def usual():
    """A group that fits any rebalance."""
    return api_of(full_view("g"))[0].group("g")


def record_lines():
    made = []
    for key, value in CAPTURED[:12]:
        row = {"key": base64.b64encode(key).decode(), "value": value and base64.b64encode(value).decode()}
        made.append(json.dumps({**row, "timestamp": 1, "partition": 3, "offset": 4}).encode())
    return made


def answers():
    events = clustered()
    api, *_ = api_of(full_view("g"), full_view("poor", members=(), running=None), events=events)
    paths = {
        b"groups": "/api/v1/groups",
        b"group": "/api/v1/groups/g",
        b"rebalances": "/api/v1/groups/g/rebalances",
        b"rebalance": f"/api/v1/groups/g/rebalances/{events[0].event_id}",
    }
    return [name + b"\n" + json.dumps(ask(api, path)[1]).encode() for name, path in paths.items()]


TARGETS = (
    Target("record-line", take_record_line, record_lines, (b"key", b"value"), 0.5, 2 * MB, text=True),
    Target("group-file", take_group_file, lambda: [json.dumps(GROUP).encode()], (b"config", b"owned"), 1.0, text=True),
    Target("agent-answer", take_agent_answer, answers, tuple(ASKED), 2.0, 32 * MB, 400, 32 * KB, text=True),
)
