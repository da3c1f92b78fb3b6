"""The client library of members, in the table of members and in the sentences of `explain`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.api.view_shapes import build_detail
from rebalance_agent.model.events import Callback
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.tracking.views import MemberLoad
from rebalance_agent.ui.sentences.explanation import explanation_of, whole_rebalances
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp, member_table
from rebalance_agent.ui.words import UNKNOWN
from support.observer.views import NOW, full_view
from support.tracker.tracking import left, listed, member, record, said, tick, topics, watch

JAVA = ClientSoftware("apache-kafka-java", "4.3.0")
FIRST, SECOND = (MemberLoad(name, None, name, "/10.0.0.7", {"t": (0,)}) for name in "ab")


def table(*members):
    view = full_view(members=members, leader_member_id=None)
    headings, rows = member_table(GroupCloseUp(build_detail(view, NOW), (), None, None))
    return [dict(zip(headings, row, strict=True)).get("client library") for row in rows]


def test_the_table_of_members_has_the_library_if_one_is_known():
    assert table(FIRST, SECOND) == [None, None]
    assert table(replace(FIRST, software=JAVA), SECOND) == ["apache-kafka-java 4.3.0", UNKNOWN]


def test_control_characters_of_a_library_are_not_printed():
    (shown, _) = table(replace(FIRST, software=ClientSoftware("a\nb", "\x1b[1m")), SECOND)
    assert shown == r"a\nb \x1b[1m"


def naming(report, software=JAVA):
    return replace(report, event=replace(report.event, software=software))


@pytest.mark.parametrize(
    ("reports", "text"),
    [
        ((), "client-b (10.0.0.1)"),
        ((naming(left("b", 80_100, 1)),), "client-b (10.0.0.1, apache-kafka-java 4.3.0) left."),
    ],
)
def test_a_sentence_about_a_member_names_its_library(reports, text):
    start = topics(0, t=4), listed(500), record(4_000, 1, member("a", (0, 1)), member("b", (2, 3)), joined=3_990)
    _, events = watch(*start, *reports, record(83_000, 2, member("a", range(4)), joined=82_990), tick(150_000))
    events = sorted([*events, *(each.event for each in reports)], key=lambda event: event.timestamp_ms)
    sentence = explanation_of(*whole_rebalances(events, 1), 1).rebalances[-1].sentences[0]
    assert text in sentence


def test_a_sentence_about_a_newcomer_names_its_library():
    start = topics(0, t=4), listed(500), record(4_000, 1, member("a", range(4)), joined=3_990)
    joined = naming(said(Callback.ASSIGNED, "b", 83_010, 83_020, 2, (2, 3)))
    grown = record(83_000, 2, member("a", (0, 1)), member("b", (2, 3)), joined=82_990)
    _, events = watch(*start, grown, joined, tick(150_000))
    events = sorted([*events, joined.event], key=lambda event: event.timestamp_ms)
    sentence = explanation_of(*whole_rebalances(events, 1), 1).rebalances[-1].sentences[0]
    assert "client-b (10.0.0.1, apache-kafka-java 4.3.0) joined" in sentence
