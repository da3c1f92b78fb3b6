"""Tasks of a streams group's members in the table of members, and in the sentences of `explain`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.api.view_shapes import build_detail
from rebalance_agent.model.group import StreamsMember, TaskKind
from rebalance_agent.tracking.views import MemberLoad
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp, member_table
from rebalance_agent.ui.task_words import STREAMS_HEADINGS, group_tasks_text, tasks_text
from rebalance_agent.ui.words import UNKNOWN
from support.observer.views import NOW, full_view

ONE = StreamsMember("p-1", "a.example:7001", {"0": (0, 1), "1": (0,)}, {"1": (1,)}, {"0": (2,)})
TWO = StreamsMember("p-2", None, {"0": (2, 3)})
FIRST, SECOND = (
    MemberLoad(name, None, name, "/10.0.0.7", {"t": (0,)}, streams=each) for name, each in (("a", ONE), ("b", TWO))
)


def detail(*members):
    return build_detail(full_view(members=members, leader_member_id=None), NOW)


def table(*members):
    headings, rows = member_table(GroupCloseUp(detail(*members), (), None, None))
    return headings, [dict(zip(headings, row, strict=True)) for row in rows]


def test_the_table_of_members_has_tasks_endpoint_and_process_only_in_streams_groups():
    headings, (first, second) = table(FIRST, SECOND)
    assert headings[-3:] == STREAMS_HEADINGS == ("tasks", "endpoint", "process")
    assert first["tasks"] == "active 0_0, 0_1, 1_0; standby 1_1; warm-up 0_2"
    assert (first["endpoint"], first["process"]) == ("a.example:7001", "p-1")
    assert (second["tasks"], second["endpoint"], second["process"]) == ("active 0_2, 0_3", UNKNOWN, "p-2")
    headings, _ = table(*(replace(member, streams=None) for member in (FIRST, SECOND)))
    assert not set(STREAMS_HEADINGS) & set(headings)


def test_a_member_that_has_no_task_or_whose_tasks_are_not_known_has_dashes():
    _, rows = table(FIRST, replace(SECOND, streams=StreamsMember("p-2")), replace(SECOND, member_id="c", streams=None))
    assert [row["tasks"] for row in rows][1:] == [UNKNOWN, UNKNOWN]


def test_many_tasks_are_counted():
    many = StreamsMember("p", standby={"0": tuple(range(6)), "1": tuple(range(5))})
    assert tasks_text(many, TaskKind) == "standby 0_0, 0_1, 0_2, 0_3, 0_4, 0_5, 1_0, 1_1 and 3 more"


def test_explain_counts_the_tasks_and_names_copies_and_endpoints():
    assert group_tasks_text(detail(FIRST, SECOND).members) == (
        "Tasks: 5 active, 1 standby and 1 warm-up. a: standby 1_1; warm-up 0_2; endpoint a.example:7001"
    )
    assert group_tasks_text(detail(replace(FIRST, streams=None)).members) == ""


def test_explain_names_eight_members():
    members = [replace(FIRST, member_id=f"m{number}", client_id=f"m{number}", streams=ONE) for number in range(10)]
    text = group_tasks_text(detail(*members).members)
    assert text.startswith("Tasks: 30 active, 10 standby and 10 warm-up. m0: standby 1_1")
    assert (text.count("standby 1_1"), text.endswith(". and 2 more members")) == (8, True)


@pytest.mark.parametrize("text", ["\x1b[1m", "a\nb"])
def test_control_characters_are_not_printed(text):
    streams = StreamsMember(text, f"{text}:1", {text: (0,)}, {text: (1,)})
    member = replace(FIRST, streams=streams)
    _, (row,) = table(member)
    shown = [row[name] for name in STREAMS_HEADINGS] + [group_tasks_text(detail(member).members)]
    assert not any(text in each for each in shown)
