"""The start of a stall without an owner that stopped, the record that assigned the partition, and a group's facts."""

from __future__ import annotations

import pytest

from judge.evidence.facts import Fact
from judge.evidence.history import History, histories
from judge.evidence.process import Process
from judge.evidence.truth import contradicted, true_spans
from judge.verdict.episodes import episodes
from support.judge.callbacks import callback_lines
from support.judge.episodes import reported


def generation(number, **members):
    rows = [
        {"member": f"{client}-id", "client": client, "partitions": [("t", each) for each in has], "topics": ["t"]}
        for client, has in members.items()
    ]
    return {"kind": "generation", "generation": number, "members": rows}


def history(*rows):
    made = History("g")
    for at, fact in rows:
        made.add({"group": "g", **fact}, at, f"0:{at}")
    return made


def member(name, *callbacks, acts=()):
    return Process(f"{name}.1", name, callback_lines(callbacks), list(acts))


def truth(processes, records, joins=(), *, classic=True):
    return true_spans(processes, records, joins, classic=classic)


def test_the_first_stall_of_a_group_begins_with_its_first_join_between_the_clients_two_requests():
    records = history((1_000, generation(0)), (1_500, generation(1, a=[0])))
    (span,) = [
        each for each in truth([member("a", (1_600, "assigned", "t-0"))], records, [990, 1_200]) if each.until < 9_999
    ]
    assert (span.stop_first, span.stop_last, span.reason, span.given) == (990, 1_000, "empty", 1_500)


def test_partitions_of_an_empty_group_stall_from_the_next_join():
    records = history((500, generation(1, a=[0])), (2_000, generation(2)), (8_500, generation(3, b=[0])))
    old = member("a", (600, "assigned", "t-0"), (1_900, "revoked", "t-0"))
    found = truth([old, member("b", (8_600, "assigned", "t-0"))], records, [300, 8_000])
    (span,) = [each for each in found if each.new == "b.1"]
    assert (span.longest_s, span.reason) == (0.6, "empty")


def epoch_member(name, client, *partitions):
    """The records of a member that the coordinator gave these partitions, in the order of its transaction."""
    given = {"member": name, "partitions": [("t", each) for each in partitions]}
    return (
        {"kind": "member", "member": name, "client": client, "topics": ["t"]},
        {"kind": "target", **given},
        {"kind": "current", **given, "epoch": 1, "stable": True},
    )


def test_a_group_is_not_empty_while_its_only_member_is_replaced_in_its_seat():
    gone = [{"kind": kind, "member": "a-1", "gone": True} for kind in ("current", "target", "member")]
    started = [{"kind": "epoch", "epoch": 1}, *epoch_member("a-1", "a", 0)]
    records = history(
        *((500, fact) for fact in started), *((2_000, fact) for fact in (*gone, *epoch_member("a-2", "a", 0)))
    )
    old = member("a", (600, "assigned", "t-0"), (1_900, "revoked", "t-0"))
    found = truth([old, member("b", (2_100, "assigned", "t-0"))], records, classic=False)
    (span,) = [each for each in found if each.new == "b.1"]
    assert (span.longest_s, span.old) == (0.2, "a.1")


def test_partitions_of_an_expelled_last_member_stall_from_the_next_join():
    records = history((500, generation(1, a=[0])), (2_000, generation(2)), (8_500, generation(3, b=[0])))
    old = member("a", (600, "assigned", "t-0"), (5_000, "lost", "t-0"))
    found = truth([old, member("b", (8_600, "assigned", "t-0"))], records, [300, 8_000])
    (span,) = [each for each in found if each.new == "b.1"]
    assert (span.longest_s, span.reason, span.idle_since) == (0.6, "empty", 5_000)


def test_a_join_lost_with_its_coordinator_gives_a_range():
    records = history((500, generation(1, a=[0])), (2_000, generation(2)), (60_000, generation(3, b=[0])))
    old = member("a", (600, "assigned", "t-0"), (1_900, "revoked", "t-0"))
    found = truth([old, member("b", (60_100, "assigned", "t-0"))], records, [300, 3_000, 59_000])
    (span,) = [each for each in found if each.new == "b.1"]
    assert (span.longest_s, span.shortest_s) == (57.1, 1.1)


def test_a_removed_member_that_stops_after_the_record_stalls_in_that_rebalance():
    records = history((500, generation(1, a=[0], b=[])), (9_000, generation(2, b=[0])), (20_000, generation(3, b=[0])))
    old = member("a", (600, "assigned", "t-0"), (9_100, "lost", "t-0"))
    found = truth([old, member("b", (12_000, "assigned", "t-0"))], records)
    (span,) = [each for each in found if each.new == "b.1"]
    assert (span.longest_s, span.given) == (2.9, 9_000)
    events = [reported(number, at) for number, at in ((2, 9_000), (3, 20_000))]
    assert [len(each.spans) for each in episodes(events, [span], [], "g")] == [1, 0]


def test_a_new_partition_stalls_from_the_first_record_that_shows_it():
    records = history((500, generation(1, a=[0])), (3_000, generation(2, a=[0, 1])))
    found = truth([member("a", (600, "assigned", "t-0"), (3_200, "assigned", "t-1"))], records)
    (span,) = [each for each in found if each.partition == "t-1"]
    assert (span.stop_first, span.reason) == (3_000, "new")


def test_a_stall_through_several_generations_is_one_and_ends_with_the_record_before_the_callback():
    records = history((500, generation(1, a=[0])), (3_000, generation(2, b=[0])), (6_000, generation(3, b=[0])))
    old = member("a", (600, "assigned", "t-0"), (2_000, "revoked", "t-0"))
    found = truth([old, member("b", (6_100, "assigned", "t-0"))], records)
    (span,) = [each for each in found if each.new == "b.1"]
    assert (span.longest_s, span.given) == (4.1, 6_000)
    found = truth([old, member("b", (6_100, "assigned", "t-0"))], records, classic=False)
    assert [each.given for each in found if each.new == "b.1"] == [3_000]


def test_a_record_that_comes_just_after_the_callback_did_not_assign_what_an_earlier_one_did():
    records = history((500, generation(1, a=[0])), (8_990, generation(2, b=[0])), (9_000, generation(3, b=[0, 1])))
    old = member("a", (600, "assigned", "t-0"), (1_900, "revoked", "t-0"))
    found = truth([old, member("b", (8_998, "assigned", "t-0"), (9_007, "assigned", "t-1"))], records)
    assert {each.partition: each.given for each in found if each.new == "b.1"} == {"t-0": 8_990, "t-1": 9_000}


def test_a_record_before_the_owners_stop_assigned_nothing():
    records = history((500, generation(1, a=[0])), (900, generation(2, a=[0])))
    again = member("a", (600, "assigned", "t-0"), (2_000, "lost", "t-0"), (2_500, "assigned", "t-0"))
    (span,) = [each for each in truth([again], records, classic=False) if each.old]
    assert span.given is None


def test_a_partition_without_subscribers_meanwhile_counts_as_new():
    other = {**generation(2), "members": [{"member": "a-id", "client": "a", "partitions": [], "topics": ["u"]}]}
    records = history((500, generation(1, a=[0])), (2_000, other), (7_000, generation(3, a=[0])))
    back = member("a", (600, "assigned", "t-0"), (1_900, "revoked", "t-0"), (7_100, "assigned", "t-0"))
    (span,) = [each for each in truth([back], records) if each.until == 7_100]
    assert (span.stop_first, span.reason) == (7_000, "new")


def test_records_read_after_a_revocation_contradict_the_computed_stall():
    old = member("a", (600, "assigned", "t-0"), (2_000, "revoked", "t-0"))
    old.lines.append({"at": 2_500, "what": "read", "first": {"t-0": 2_400}, "last": {"t-0": 2_400}})
    new = member("b", (3_000, "assigned", "t-0"))
    records = history((500, generation(1, a=[0])), (2_900, generation(2, b=[0])))
    assert len(contradicted(truth([old, new], records), [old, new])) == 1
    old.lines.pop()
    assert contradicted(truth([old, new], records), [old, new]) == []


def test_facts_of_a_classic_group_are_generations_aborted_ones_returns_and_the_end():
    back = generation(4, a=[0])
    back["members"][0]["member"] = "a-other"
    records = history(
        (1, generation(0)), (2, generation(1, a=[0])), (3, generation(4, a=[0])), (4, generation(4, a=[0])), (5, back),
        (6, {"kind": "generation", "gone": True}),
    )  # fmt: skip
    assert [(fact.kind, fact.number) for fact in records.facts] == [
        ("generation", 1), ("aborted", 2), ("aborted", 3), ("generation", 4), ("replaced", 4), ("group_gone", -1),
    ]  # fmt: skip


def epoch(number):
    return {"kind": "epoch", "epoch": number}


def joined(name):
    return {"kind": "member", "member": name, "client": name, "topics": ["t"]}


def current(name, number, *, stable=True, partitions=()):
    return {
        "kind": "current",
        "member": name,
        "epoch": number,
        "stable": stable,
        "partitions": [("t", p) for p in partitions],
    }


def test_an_epoch_is_a_fact_when_all_members_reached_it_and_one_that_was_replaced_is_none():
    records = history(
        (1, joined("a")), (1, epoch(1)), (2, current("a", 1, partitions=[0])),
        (3, joined("b")), (3, epoch(2)), (4, current("b", 2, stable=False)),
        (5, joined("c")), (5, epoch(3)), (6, current("b", 3)), (7, current("c", 3)), (8, current("a", 3)),
    )  # fmt: skip
    assert [(fact.number, fact.at_ms, fact.members) for fact in records.facts] == [(1, 2, 1), (3, 8, 3)]
    assert records.states[-1].owners["a"] == set()


def test_an_epoch_is_not_reached_by_the_departure_that_leads_to_the_next_one():
    def gone(name, kind):
        return {"kind": kind, "member": name, "gone": True}

    records = history(
        (1, joined("a")), (1, joined("b")), (1, epoch(2)), (2, current("a", 2)), (3, gone("b", "current")),
        (3, gone("b", "member")), (3, epoch(3)), (4, gone("a", "current")), (4, gone("a", "member")), (4, epoch(4)),
    )  # fmt: skip
    assert [(fact.number, fact.members) for fact in records.facts] == [(4, 0)]


@pytest.mark.parametrize("away", [-2, 3])
def test_an_absent_static_member_is_not_awaited(away):
    records = history((1, joined("a")), (1, joined("b")), (2, current("b", away)), (3, epoch(3)), (4, current("a", 3)))
    assert records.facts == [Fact("generation", 3, 4, "0:4", 2)]


@pytest.mark.parametrize(("at", "outside"), [(900, True), (2_500, False)])
def test_partitions_lost_and_regained_without_a_record_belong_to_no_rebalance(at, outside):
    """A member of a consumer group whose coordinator did not respond; it is still a member when the coordinator is
    back."""
    old = member("a", (1_000, "assigned", "t-0"), (2_000, "lost", "t-0"), (3_000, "assigned", "t-0"))
    found = truth([old], history((900, generation(1, a=[0])), (at, generation(1))), classic=False)
    (span,) = [each for each in found if each.until == 3_000]
    assert span.outside == outside
    spans_of = [len(each.spans) for each in episodes([reported(2, 4_000)], [span], (), "g")]
    assert spans_of == [0 if outside else 1]


def test_a_partition_was_given_before_its_old_owner_noticed_also_if_records_came_in_between():
    """The group whose coordinator assigns wrote records of other members between the two."""
    records = history((500, generation(1, a=[0])), (1_000, generation(2, b=[0])), (2_000, generation(3, b=[0], c=[])))
    old = member("a", (600, "assigned", "t-0"), (1_800, "lost", "t-0"))
    found = truth([old, member("b", (2_500, "assigned", "t-0"))], records, classic=False)
    (span,) = [each for each in found if each.new == "b.1"]
    assert (span.stop_first, span.given) == (1_800, 1_000)


def test_a_returning_static_member_has_its_partitions_from_its_own_record_on():
    """Two members return one after the other: the second one's record also shows the first one's partitions."""
    rows = [generation(2, a=[0], b=[1]) for _ in range(3)]
    for row, ids in zip(rows, (("a1", "b1"), ("a2", "b1"), ("a2", "b2")), strict=True):
        for each, name in zip(row["members"], ids, strict=True):
            each["member"] = name
    records = history(*zip((500, 3_000, 3_067), rows, strict=True))
    assert records.given("t-0", "a", 1_000, 3_100, every=True) == 3_000
    assert records.given("t-1", "b", 1_000, 3_100, every=True) == 3_067
    records = history((500, generation(2, a=[0])), (3_000, generation(3, a=[0])), (4_000, generation(4, a=[0])))
    assert records.given("t-0", "a", 1_000, 4_100, every=True) == 4_000


def read(offsets, facts):
    rows = [
        {"partition": 0, "offset": offset, "timestamp": offset, "key": b"", "value": fact}
        for offset, fact in zip(offsets, facts, strict=True)
    ]
    made = histories(rows, {}, lambda _, fact: {"group": "g", **fact})["g"]
    return [(fact.kind, fact.number) for fact in made.facts]


@pytest.mark.parametrize(("offsets", "kind"), [((4, 5, 6), "aborted"), ((4, 6, 7), "hidden"), ((3, 4, 6), "hidden")])
def test_a_missing_number_is_an_aborted_generation_only_if_the_judge_read_every_record_between(offsets, kind):
    facts = [generation(1, a=[0]), {"kind": "commit", "topic": "t", "partition": 0}, generation(3, a=[0])]
    assert read(offsets, facts) == [("generation", 1), (kind, 2), ("generation", 3)]


@pytest.mark.parametrize(("offset", "hidden"), [(2, []), (3, [("hidden", 2), ("hidden", 3)])])
def test_missing_epochs_are_excused_only_if_the_judge_did_not_read_every_record(offset, hidden):
    facts = [{"kind": "epoch", "epoch": number} for number in (1, 4)]
    assert read((1, offset), facts) == [("generation", 1), *hidden, ("generation", 4)]


@pytest.mark.parametrize(("next_number", "begins"), [(5, 9_000), (4, 2_000)])
def test_a_group_was_empty_if_the_log_says_so_and_its_generation_has_no_record(next_number, begins):
    """Seed 11: the record of the Empty generation was not written in an outage."""
    records = history((1_000, generation(3, a=[0])), (9_000, generation(next_number, b=[0])))
    records.add_empty(5_000, 4)
    old = member("a", (1_000, "assigned", "t-0"), (2_000, "lost", "t-0"))
    (span,) = [each for each in truth([old, member("b", (9_100, "assigned", "t-0"))], records) if each.until == 9_100]
    assert span.stop_first == begins


def test_what_a_started_group_unsubscribed_counts_from_the_record_that_shows_it_again():
    """Seed 23: the member that got it by the first record of the group never learned of that."""
    other = {"member": "a-id", "client": "a", "partitions": [("u", 0)], "topics": ["u"]}
    records = history(
        (1_000, generation(1)),
        (2_000, generation(2, a=[0])),
        (5_000, {"kind": "generation", "generation": 3, "members": [other]}),
        (9_000, generation(4, b=[0])),
    )
    (span,) = truth([member("b", (9_100, "assigned", "t-0"))], records)
    assert (span.stop_first, span.reason) == (9_000, "new")
