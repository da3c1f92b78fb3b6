"""The patterns match published lines, and none that the codec rejects or writes otherwise but for order and sums."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass

import pytest

from rebalance_agent.model.event_json import event_from_json, json_line
from rebalance_agent.model.events import EVENT_KINDS
from rebalance_agent.pipeline.ingest.event_patterns import TEXT_MAX, event_pattern
from rebalance_agent.pipeline.ingest.event_rows import EventRow, event_row
from support.pipeline.damaged_lines import FORMS
from support.pipeline.event_models import MODELS

PATTERNS = {kind: re.compile(event_pattern(cls)) for kind, cls in EVENT_KINDS.items()}
OF_EACH_KIND = {model["kind"]: model for model in MODELS}
COMPARED = re.compile(
    r"malformed: (.*members: must have|unassigned|part:|\w*generation: must not|phases.started_ms: must not|stall"
    r"|topics: must have|.* is out of order|.* partitions in all)"
)
"""Reasons that only a comparison of several values shows, as in `native_checks`."""
ORDERED = {
    "a map's name twice",
    "a map's names out of order",
    "topics out of order",
    "a callback's topics out of order",
    "a callback's topic twice",
    "ranges that touch",
    "a range of one",
}
"""Forms that no pattern can tell from the codec's."""


def matches(line):
    text = line.decode("utf-8", "replace")
    return (
        any(map(re.fullmatch, PATTERNS.values(), [text] * len(PATTERNS))) and max(map(len, text.split('"'))) <= TEXT_MAX
    )


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model["kind"])
def test_a_published_event_matches_unless_a_number_has_very_many_digits(model):
    line = json_line(event_from_json(model))
    assert matches(line) == (not re.search(rb"\.[0-9]{7}", line))


def test_events_of_every_kind_were_tried():
    assert OF_EACH_KIND.keys() == EVENT_KINDS.keys()


@pytest.mark.parametrize("name", FORMS)
def test_a_line_that_matches_is_an_event_and_written_alike(name):
    for model in OF_EACH_KIND.values():
        line = FORMS[name](copy.deepcopy(model))
        if matches(line):
            row = event_row(line)
            if isinstance(row, EventRow):
                assert row.body.encode() == line or name in ORDERED
            else:
                assert COMPARED.match(str(row))


@dataclass
class Checked:
    KIND = "checked"
    event_id: str

    def __post_init__(self):
        pass


@dataclass
class Complex:
    KIND = "complex"
    number: complex


@pytest.mark.parametrize("kind", [Checked, Complex])
def test_a_check_or_type_that_is_unknown_here_is_an_error(kind):
    with pytest.raises(TypeError, match=r"Checked|complex"):
        event_pattern(kind)
