"""Events in several parts become one body, unless the parts do not belong together."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rebalance_agent.model.event_json import json_line
from rebalance_agent.pipeline.tables.generations import joined_body
from support.pipeline.event_rows import MONDAY_MS, generation, member

WHOLE = generation(MONDAY_MS, 1, [member("a", (0, 1)), member("b", (2,))])
A, B = (replace(WHOLE, part=number, parts=2, members=WHOLE.members[number : number + 1]) for number in (0, 1))


def bodies(*parts):
    return [json_line(part).decode() for part in parts]


def test_joined_parts_equal_the_event():
    assert joined_body(bodies(A, B)) == json_line(WHOLE).decode()


@pytest.mark.parametrize(
    "parts",
    {
        "one part twice": (A, replace(A, event_id="other")),
        "a member in two parts": (A, replace(A, part=1)),
        "partitions of which no part speaks": (A, replace(B, members=())),
        "members whose ids become the same in the tables": (
            replace(A, members=(replace(A.members[0], member_id="m\ud800"),)),
            replace(B, members=(replace(B.members[0], member_id="m\ud801"),)),
        ),
    }.values(),
)
def test_parts_of_different_events_are_no_event(parts):
    assert joined_body(bodies(*parts)) is None


def test_parts_with_too_many_partitions_together_are_no_event():
    """Such an event cannot be read as a whole, so that its members cannot be compared."""
    large = replace(A.members[0], owned={"t": range(500_000)}, assigned={"t": range(999_999)})
    parts = [replace(WHOLE, part=number, parts=2, members=(large,)) for number in (0, 1)]
    assert joined_body(bodies(*parts)) is None


def test_a_joined_body_is_json_of_one_line():
    assert json.loads(joined_body(bodies(A, B)))["parts"] == 1
