"""A member whose seat a gateway handed over is named by its consumer, with the coordinator's name beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.api.view_shapes import build_detail
from rebalance_agent.model.member_changes import member_name
from rebalance_agent.model.reported.seat_event import SEAT_PREFIX, Act, ActOutcome, SeatEvent, SeatOccupant
from rebalance_agent.tracking.observations import MemberReported
from rebalance_agent.tracking.views import MemberLoad
from rebalance_agent.ui.sentences.explanation import explanation_of, whole_rebalances
from rebalance_agent.ui.sentences.group_detail import GroupCloseUp, member_table
from rebalance_agent.ui.words import UNKNOWN
from support.observer.views import NOW, full_view
from support.tracker.tracking import T0, listed, member, record, tick, topics, watch

SEAT = f"{SEAT_PREFIX}1a2b-1"
FIRST = MemberLoad("a", SEAT, "orders-2", "/10.0.0.7", {"t": (0,)})
OTHER = MemberLoad("b", None, "orders-3", "/10.0.0.8", {"t": (1,)})
AT_MS = 43_387_000  # 12:03:07


def table(*members):
    return member_table(
        GroupCloseUp(build_detail(full_view(members=members, leader_member_id=None), NOW), (), None, None)
    )


def test_the_table_has_the_consumer_beside_the_coordinators_names():
    taken = replace(FIRST, occupant=SeatOccupant("orders-7", "/10.0.0.9", AT_MS))
    headings, rows = table(taken, OTHER)
    assert headings[:4] == ("member", "client id", "host", "seat taken by")
    assert sorted(row[:4] for row in rows) == [
        ("orders-3", "orders-3", "10.0.0.8", UNKNOWN),
        ("orders-7", "orders-2", "10.0.0.7", "orders-7, 10.0.0.9, 12:03:07 UTC"),
    ]


def test_without_handovers_there_is_no_such_column():
    headings, rows = table(FIRST, OTHER)
    assert "seat taken by" not in headings
    assert sorted(row[0] for row in rows) == ["orders-2", "orders-3"], "the gateway's instance id is no name"


@pytest.mark.parametrize(
    ("instance_id", "pod", "name"),
    [(SEAT, None, "client"), (SEAT, "pod-1", "pod-1"), ("static-1", None, "static-1"), (None, None, "client")],
)
def test_a_members_name_is_not_the_instance_id_that_a_gateway_gave(instance_id, pod, name):
    assert member_name("client", instance_id, pod=pod) == name


TAKEN = SeatEvent(
    "e" * 32, "g", T0 + 2_000, Act.HANDOVER, ActOutcome.DONE, "b", "gateway", 1,
    client_id="orders-7", host="10.0.0.9",
)  # fmt: skip


def seat(name, instance=SEAT):
    return member(name, (0, 1), instance=instance, client="orders-2")


def test_a_sentence_shows_that_a_seat_was_taken_over():
    for taken, instance, text in (
        (TAKEN, SEAT, "at 10.0.0.1) took over its seat"),
        (None, SEAT, "orders-2 (10.0.0.1) took over its seat"),  # its client id and host are those of the one before
        (None, "static-1", "static-1 (client orders-2, 10.0.0.1) rejoined with its instance id"),
    ):
        start = topics(0, t=4), listed(500), record(1_000, 1, seat("a", instance), member("z", (2, 3)), joined=990)
        handed_over = record(2_100, 1, seat("b", instance), member("z", (2, 3)), joined=990)
        report = (MemberReported(T0 + 2_000, taken),) if taken else ()
        _, events = watch(*start, *report, handed_over, tick(150_000))
        sentence = explanation_of(*whole_rebalances(events, 1), 1).rebalances[-1].sentences[0]
        assert text in sentence


def test_a_sentence_names_the_consumer_and_whose_seat_it_has():
    polls = listed(9_900), listed(10_000, "g"), listed(12_990, "g")
    start = topics(0, t=4), listed(500), record(1_000, 1, seat("b"), member("z", (2, 3)), joined=990)
    after = record(13_000, 2, member("z", range(4)), joined=12_990)
    _, events = watch(*start, MemberReported(T0 + 2_000, TAKEN), *polls, after, tick(150_000))
    sentence = explanation_of(*whole_rebalances(events, 1), 1).rebalances[-1].sentences[0]
    assert "orders-7 (10.0.0.9, in the seat of orders-2 at 10.0.0.1) left" in sentence
