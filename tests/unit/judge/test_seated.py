"""Members whose coordinator names another consumer than the one that has their seat, and members that were removed."""

from __future__ import annotations

import json

import pytest

from judge.evidence.broker_log import removals
from judge.evidence.history import History
from judge.evidence.process import Process
from judge.evidence.reported import occupants
from judge.evidence.spans import spans
from judge.evidence.truth import true_spans
from judge.verdict.episodes import episodes
from support.judge.callbacks import callback_lines
from support.judge.episodes import reported


def generation(number, *members):
    """``members``: (member id, client id that the coordinator names, partitions)."""
    rows = [
        {"member": name, "client": client, "partitions": [("t", each) for each in has], "topics": ["t"]}
        for name, client, has in members
    ]
    return {"kind": "generation", "group": "g", "generation": number, "members": rows}


def history(*rows, seats=None):
    made = History("g", occupants=seats)
    for number, (at, fact) in enumerate(rows):
        made.add(fact, at, f"0:{number}")
    return made


def process(client, *callbacks, removed=()):
    return Process(f"{client}.1", client, callback_lines(callbacks), [], removed=tuple(removed))


def seat(member_id, client_id, outcome="done", **more):
    value = {"kind": "seat", "act": "handover", "member_id": member_id, "client_id": client_id, "outcome": outcome}
    return {"value": json.dumps({**value, **more}).encode()}


def test_events_of_seats_name_the_consumer_of_a_member():
    rows = [seat("m1", "a"), seat("m2", "b", "wrong"), seat("m3", "c", "refused"), seat("m4", None), {"value": b"{"}]
    assert occupants(rows) == {"m1": "a", "m2": "b"}


SEATED = history(
    (500, generation(1, ("a-1", "a", [0]))),
    (9_000, generation(1, ("a-2", "a", [0]))),
    (20_000, generation(2, ("a-2", "a", [0]))),
    seats={"a-2": "b"},
)


def test_a_stall_ends_with_the_record_that_gives_its_predecessors_seat_to_a_consumer():
    old = process("a", (600, "assigned", "t-0"), (6_000, "revoked", "t-0"))
    found = true_spans([old, process("b", (9_100, "assigned", "t-0"))], SEATED, (), classic=True)
    (span,) = [each for each in found if each.new == "b.1"]
    assert (span.longest_s, span.given) == (3.1, 9_000)
    events = [reported(number, at) for number, at in ((1, 9_000), (2, 20_000))]
    assert [len(each.spans) for each in episodes(events, [span], [], "g")] == [1, 0]


def test_of_two_records_of_one_millisecond_each_ends_the_stalls_of_its_own_seat():
    """A new coordinator answered the JoinGroups of two successors at once."""
    before = (500, generation(1, ("a-1", "a", [0]), ("b-1", "b", [1])))
    one = (9_000, generation(1, ("a-2", "a", [0]), ("b-1", "b", [1])))
    other = (9_000, generation(1, ("a-2", "a", [0]), ("b-2", "b", [1])))
    records = history(before, one, other, seats={"a-2": "c", "b-2": "d"})
    members = [
        process("a", (600, "assigned", "t-0"), (3_000, "revoked", "t-0")),
        process("b", (600, "assigned", "t-1"), (6_000, "revoked", "t-1")),
        process("c", (9_100, "assigned", "t-0")),
        process("d", (9_100, "assigned", "t-1")),
    ]
    found = [each for each in true_spans(members, records, (), classic=True) if each.old and each.new]
    first, second = episodes([reported(1, 9_000, id="one"), reported(1, 9_000, id="other")], found, [], "g")
    assert [each.partition for each in first.spans] == ["t-0"]
    assert [each.partition for each in second.spans] == ["t-1"]


@pytest.mark.parametrize(("removed", "longest"), [([], 1.0), ([5_000], 4.0), ([500], 1.0), ([8_500], 1.0)])
def test_a_member_that_was_removed_and_has_not_heard_of_it_is_no_owner(removed, longest):
    """It was behind a gateway that stood still. A removal before it had the partition is another one."""
    old = process("a", (600, "assigned", "t-0"), (8_000, "revoked", "t-0"), removed=removed)
    (span,) = [each for each in spans([old, process("b", (9_000, "assigned", "t-0"))]) if each.old and each.new]
    assert (span.longest_s, span.shortest_s, span.unsure) == (longest, 1.0, False)


def test_the_brokers_log_has_removals_and_the_next_record_confirms_them():
    line = "03:32:21.050 [x] INFO a.B - [Group id=1] Member {} in group g has failed, removing it from the group."
    ((one_ms, one), (_, other)) = removals([line.format("a-1"), line.format("b-1")], 1_795_531_000_000)["g"]
    assert (one, other, one_ms % 60_000) == ("a-1", "b-1", 21_050)
    members = [("a-1", "a", [0]), ("b-1", "b", [1])]
    records = history((500, generation(1, *members)), (9_000, generation(2, members[1])))
    assert records.removed([(4_000, "a-1"), (4_000, "b-1"), (9_500, "b-1")]) == {"a": [4_000]}
