from __future__ import annotations

import dataclasses

import pytest

from rebalance_agent.assignors import strategy
from rebalance_agent.clients.participant import Participant, read_assignment, read_member, settings_of
from rebalance_agent.errors import AssignmentError, DecodeError
from rebalance_agent.groupprotocol.consumer_protocol import decode_assignment, decode_subscription, encode_subscription
from rebalance_agent.groupprotocol.standby_user_data import encode_standby_assignment
from rebalance_agent.model.subscription import (
    AssignedCopies,
    ConsumerAssignment,
    ConsumerSubscription,
    MemberSubscription,
    TopicMetadata,
)

WEIGHTED = strategy("weighted-sticky")
RANGE = strategy("range")


def copies_in(data):
    if data != b"copies":
        raise DecodeError("no copies")
    return AssignedCopies({"s": (4,)})


STANDBY = dataclasses.replace(
    RANGE,
    copies_in=copies_in,
    answer=lambda _given, _copies: b"copies",
    writer=lambda reported: repr(reported.standbys).encode(),
)

UNITS = strategy("task-sticky")


def with_copies(standbys, warmups=()):
    """User data of an assignment with copies of these partitions of s; units wait for ``warmups``."""
    return encode_standby_assignment({}, AssignedCopies({"s": standbys}, {"s": warmups} if warmups else {}))


def participant(*strategies, config=None, **options):
    return Participant(strategies or (WEIGHTED,), config or {}, group="group", **options)


def test_a_subscription_contains_the_last_assignment():
    one = participant(config={"assignment.consumer.weight": "9"}, rack="r1")
    one.received({"t": (0, 2)}, 5)
    said = decode_subscription(one.subscription(WEIGHTED, {"u", "t"}))
    assert said == ConsumerSubscription(
        3, ("t", "u"), WEIGHTED.user_data({"assignment.consumer.weight": "9"}, {"t": (0, 2)}), {"t": (0, 2)}, 5, "r1"
    )


def test_reported_copies_replace_received_ones():
    one = participant()
    one.received({"t": (0, 2)}, 5)
    said = decode_subscription(one.subscription(WEIGHTED, {"t"}, held={"t": (2,)}))
    assert (said.owned_partitions, said.generation_id) == ({"t": (2,)}, 5)


def test_copies_are_kept_and_contained_in_the_next_subscription():
    one = participant(STANDBY)
    one.received({"t": (0,)}, 1, STANDBY, b"copies")
    assert one.standbys == {"s": (4,)}
    assert decode_subscription(one.subscription(STANDBY, ["t"])).user_data == b"{'s': (4,)}"


def test_a_member_joins_again_once_for_each_awaited_copy():
    one = Participant([UNITS], {}, group="g")
    assert not one.takes_units()
    one.received({}, 1, UNITS, with_copies((4, 5)))
    assert not one.takes_units(), "no unit waits for this copy"
    one.received({"t": (0,)}, 2, UNITS, with_copies((4, 5), warmups=(4,)))
    assert [one.takes_units(), one.takes_units()] == [True, False]
    one.received({"t": (0,)}, 3, UNITS, with_copies((4, 5), warmups=(4,)))
    assert not one.takes_units(), "it has reported this copy"
    one.received({"t": (0,)}, 4, UNITS, with_copies((4, 5), warmups=(4, 5)))
    assert one.takes_units()
    one.received({"t": (0, 4)}, 5, UNITS, with_copies(()))
    assert not one.takes_units()
    one.received({"t": (0,)}, 6, UNITS, with_copies((4,), warmups=(4,)))
    assert one.takes_units(), "a later rebalance is another one"


def test_an_application_that_reports_its_copies_decides_when_to_join_again():
    one = Participant([UNITS], {}, group="g", held_standbys=dict)
    one.received({}, 1, UNITS, with_copies((4,), warmups=(4,)))
    assert not one.takes_units()


@pytest.mark.parametrize("user_data", [b"broken", b"", None])
def test_unreadable_copies_are_ignored(user_data):
    one = participant(STANDBY)
    one.received({"t": (0,)}, 1, STANDBY, b"copies")
    one.received({"t": (1,)}, 2, STANDBY, user_data)
    assert (one.owned, one.generation, one.standbys) == ({"t": (1,)}, 2, {})


def test_copies_that_the_application_reports_are_in_the_first_subscription():
    held = {"s": [7]}
    one = participant(STANDBY, held_standbys=lambda: held)
    assert decode_subscription(one.subscription(STANDBY, ["t"])).user_data == b"{'s': (7,)}"
    one.received({"t": (0,)}, 1, STANDBY, b"copies")
    held["s"] = []
    assert decode_subscription(one.subscription(STANDBY, ["t"])).user_data == b"{}"
    assert one.standbys == {"s": (4,)}  # the reported copies are unchanged


def test_after_an_exception_the_last_assigned_copies_are_reported():
    one = participant(STANDBY, held_standbys=lambda: 1 / 0)
    one.received({"t": (0,)}, 1, STANDBY, b"copies")
    assert decode_subscription(one.subscription(STANDBY, ["t"])).user_data == b"{'s': (4,)}"


def test_the_application_is_not_asked_for_copies_under_a_strategy_without_copies():
    asked = []
    one = participant(WEIGHTED, held_standbys=lambda: asked.append(1) or {})
    one.subscription(WEIGHTED, ["t"])
    assert asked == []


def test_the_leader_adds_user_data_to_assignments():
    one = participant(STANDBY)
    decision = one.decide(STANDBY, {"t": TopicMetadata(2)}, [MemberSubscription("a", ("t",))])
    (answer,) = one.answers(decision).values()
    assert decode_assignment(answer) == ConsumerAssignment(3, {"t": (0, 1)}, b"copies")
    assert decision.group.group == "group"


def seen_loads(loads):
    seen = {}

    def plan(roster):
        seen.update(zip(roster.topics, (each.loads for each in roster.metadata), strict=True))
        return RANGE.plan(roster)

    watching = dataclasses.replace(RANGE, plan=plan, by_load=True)
    topics = {"s": TopicMetadata(1), "t": TopicMetadata(2)}
    one = participant(watching, loads=loads)
    one.decide(watching, topics, [MemberSubscription("a", ("s", "t"))])
    return seen


def test_loads_are_requested_with_the_partition_counts():
    asked = []
    assert seen_loads(lambda counts: asked.append(dict(counts)) or {"t": [1, 2.5]}) == {"s": None, "t": (1.0, 2.5)}
    assert asked == [{"s": 1, "t": 2}]


@pytest.mark.parametrize("loads", [[1], [1, float("nan")], [1, -1], [1, float("inf")], [1, "x"], 7])
def test_invalid_loads_are_ignored(loads):
    assert seen_loads(lambda _counts: {"t": loads}) == {"s": None, "t": None}


def test_exceptions_of_the_loads_callback_are_ignored(caplog):
    assert seen_loads(lambda _counts: 1 / 0) == {"s": None, "t": None}
    assert "the consumer is not affected" in caplog.text


def test_a_decision_logs_a_bounded_number_of_names(caplog):
    caplog.set_level("INFO")
    refusing = dataclasses.replace(WEIGHTED, name="refusing")
    topics = tuple(f"{number:05}" + "x" * 300 for number in range(20_000))
    members = [MemberSubscription(f"m{number}", topics, user_data=b"?") for number in range(100)]
    participant(refusing).decide(refusing, {}, members)
    assert len(caplog.messages) == 12
    assert "the user data of 90 more members are not used" in caplog.text
    assert f"{topics[9][:249]} and 19990 more" in caplog.text
    assert sum(map(len, caplog.messages)) < 5_000


def test_a_setting_out_of_bounds_is_refused_at_once():
    with pytest.raises(AssignmentError, match=r"assignment\.consumer\.weight"):
        participant(config={"assignment.consumer.weight": "0"})


def test_a_setting_of_no_strategy_is_named():
    with pytest.raises(AssignmentError, match=r"assignor_config: 'weight' is not a setting of weighted-sticky"):
        settings_of({"weighted-sticky": WEIGHTED}, {"weight": 1})
    assert settings_of({"weighted-sticky": WEIGHTED}, {"assignment.consumer.weight": 7}) == {
        "assignment.consumer.weight": "7"
    }


def test_a_subscription_is_read_completely():
    said = ConsumerSubscription(3, ("t",), b"data", {"t": (1,)}, 7, "r1")
    assert read_member("m", "i", encode_subscription(said)) == MemberSubscription(
        "m", ("t",), "i", {"t": (1,)}, 7, "r1", b"data"
    )


def test_an_unreadable_subscription_has_no_fields_and_is_logged(caplog):
    assert read_member("m", None, b"\0") is None
    assert read_assignment(b"") is None
    assert "member m gets no partitions" in caplog.text
    assert "its assignment cannot be read" in caplog.text
