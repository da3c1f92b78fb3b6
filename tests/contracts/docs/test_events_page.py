"""The page about events documents every kind and field, and its example is valid."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from rebalance_agent.api.posted_events import PostError, parse_events
from rebalance_agent.api.posted_schema import posted_schema_json
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.episode import Phases, Stall
from rebalance_agent.model.event_json import event_from_json
from rebalance_agent.model.events import EVENT_KINDS, GenerationEvent, MemberSnapshot
from rebalance_agent.model.reported.deliveries_event import DeliveriesEvent, ShareDeliveries
from rebalance_agent.model.reported.seat_event import SeatEvent, SeatOccupant
from rebalance_agent.model.reported.workload import Workload

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "events.md").read_text()
PARTS = {
    "generation": (MemberSnapshot, Phases, Stall, Workload, SeatOccupant),
    "member": (Workload,),
    "assign": (AssignmentQuality,),
    "seat": (Workload,),
    "deliveries": (ShareDeliveries, Workload),
}


@pytest.mark.parametrize("kind", EVENT_KINDS)
def test_every_field_is_named(kind):
    head = PAGE[: PAGE.index("\n## ")]
    section = re.search(rf"^## `{kind}`.*?(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE).group()
    fields = {field.name for part in (EVENT_KINDS[kind], *PARTS.get(kind, ())) for field in dataclasses.fields(part)}
    common = {"cluster_id", "group", "timestamp_ms"}
    missing = {name for name in fields - common if not re.search(rf'[`"]{name}["`]', head + section)}
    assert missing == set()


def test_the_examples_are_events():
    examples = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert [type(event_from_json(json.loads(example))) for example in examples] == [
        GenerationEvent,
        SeatEvent,
        DeliveriesEvent,
    ]


def test_the_schema_of_posted_events_is_current():
    assert (DOCS / "posted-events.schema.json").read_bytes() == posted_schema_json()


def test_the_pages_example_event_is_accepted_and_its_wrong_form_refused_with_the_documented_error():
    page = (DOCS / "report-from-any-language.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^<?.*'END'\n(.*)\nEND$", page, re.MULTILINE)
    (event,) = parse_events([line.encode()])
    assert (event.group, len(event.event_id)) == ("billing", 32)
    answer = json.loads(re.search(r"```json\n(.*?)```", page, re.DOTALL).group(1))
    wrong = json.dumps({**json.loads(line), "callback": "paused", "sequence": "1"})
    with pytest.raises(PostError) as caught:
        parse_events([wrong.encode()])
    assert [(fault.field, fault.problem) for fault in caught.value.faults] == [
        (fault["field"], fault["problem"]) for fault in answer["faults"]
    ]
    assert str(caught.value) == answer["error"]
