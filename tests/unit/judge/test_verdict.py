"""Bounds, facts, tightness, triggers and counters compared with a truth written by hand."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from judge.evidence.broker_log import beginnings, cause_of, emptied, first_joins
from judge.evidence.facts import Fact, State
from judge.evidence.process import FOREVER
from judge.evidence.reported import kept, read_event
from judge.verdict.bounds import EXACT, LOWER, RECORD, SECONDS_HIGH, SECONDS_LOW, UPPER, judged
from judge.verdict.counters import compared, too_high
from judge.verdict.episodes import episodes
from judge.verdict.facts import Coverage, coverage, disagreements, triggers, unreported
from support.judge.episodes import AT, reported, span


def verdict(event, *spans, **more):
    (episode,) = episodes([event], list(spans), (), "g")
    return judged(episode, **more)


@pytest.mark.parametrize(
    ("longest", "reason", "wrong"),
    [
        (1.0, "revoked", ()),
        (3.02, "revoked", ()),
        (3.03, "revoked", (UPPER,)),
        (3.14, "killed", ()),
        (3.14, "stopped", ()),
        (3.16, "killed", (UPPER,)),
        (0.996, "revoked", ()),
        (0.994, "revoked", (LOWER,)),
    ],
)
def test_a_bound_holds_within_its_tolerance(longest, reason, wrong):
    assert verdict(reported(), span(longest, reason=reason)).wrong == wrong


@pytest.mark.parametrize(("longest", "wrong"), [(2.049, ()), (2.051, (EXACT,)), (1.951, ()), (1.949, (EXACT,))])
def test_an_exact_stall_is_within_fifty_milliseconds(longest, wrong):
    assert verdict(reported(lower=2.0, upper=2.0, exact=True), span(longest)).wrong == wrong


def test_a_bound_that_holds_to_the_record_and_not_to_the_callback_is_distinguished():
    assert verdict(reported(), span(3.5, given=AT - 600)).wrong == (RECORD,)


def test_a_bound_is_false_only_outside_the_range_of_the_measured_stall():
    assert verdict(reported(), span(3.5, shortest=2.9)).wrong == ()
    assert verdict(reported(), span(1.5, shortest=0.5)).wrong == ()


def test_the_longest_stall_of_all_partitions_counts():
    assert verdict(reported(), span(0.2), span(2.0), span(4.0)).wrong == (UPPER,)
    assert verdict(reported(), span(0.2), span(2.0)).wrong == ()


def test_an_open_stall_does_not_contradict_the_episodes_lower_bound():
    assert verdict(reported(), span(0.5)).wrong == (LOWER,)
    assert verdict(reported(), span(0.5), span(9.0, until=AT + 5_000, given=AT + 4_000)).wrong == ()
    assert verdict(reported(), span(0.5), replace(span(4.0), until=FOREVER)).wrong == ()


def test_a_stall_is_open_in_each_episode_until_the_callback_also_after_its_record():
    long = span(60.0, until=AT + 50_000, given=AT - 5_000)
    found = episodes([reported(1, AT - 4_000), reported(2, AT), reported(3, AT + 60_000)], [long], (), "g")
    assert [(len(each.spans), len(each.open)) for each in found] == [(1, 0), (0, 1), (0, 0)]


def test_a_stall_of_a_group_that_became_empty_does_not_contradict_an_earlier_lower_bound():
    late = replace(span(1.0, until=AT + 60_000), idle_since=AT - 2_000)
    assert verdict(reported(), late).wrong == ()


def test_a_member_unaware_of_its_removal_gives_no_lower_bound():
    for stale, unsure, wrong in ((True, True, ()), (False, False, (LOWER,))):
        (episode,) = episodes([reported()], [span(0.5)], (), "g")
        episode.stale = stale
        assert (judged(episode).unsure, judged(episode).wrong) == (unsure, wrong)


def test_unreported_values_are_not_judged():
    assert verdict(reported(), span(9.0, unsure=True)).unsure


def test_a_static_member_that_closes_is_expelled_by_a_timer():
    assert verdict(reported(), span(3.1, reason="closing")).wrong == (UPPER,)
    assert verdict(reported(), span(3.1, reason="closing"), static=True).wrong == ()


def test_partition_seconds_with_both_bounds_are_judged():
    assert verdict(reported(stalled_s=3.9, stalled_upper_s=4.0), span(2.0), span(2.0)).wrong == ()
    assert verdict(reported(stalled_s=1.0, stalled_upper_s=3.5), span(2.0), span(2.0)).wrong == (SECONDS_HIGH,)
    assert verdict(reported(stalled_s=4.1, stalled_upper_s=9.0), span(2.0), span(2.0)).wrong == (SECONDS_LOW,)
    assert verdict(reported(stalled_s=9.0), span(2.0)).wrong == ()


def test_a_span_belongs_to_the_first_episode_that_ends_after_the_assigning_record():
    events = [reported(1, AT), reported(2, AT + 1_000), reported(3, AT + 2_000)]
    found = episodes(
        events, [span(5.0, until=AT + 1_500, given=AT + 900), span(1.0, until=AT + 1_100, given=AT)], (), "g"
    )
    assert [len(each.spans) for each in found] == [1, 1, 0]
    assert found[1].longest.longest_s == 5.0


def test_a_span_belongs_to_the_event_of_its_record_also_if_another_is_a_millisecond_earlier():
    first, second = span(1.0, until=AT + 100, given=AT), span(2.0, until=AT + 100, given=AT + 1)
    found = episodes([reported(18, AT), reported(18, AT + 1)], [first, second], (), "g")
    assert [each.spans for each in found] == [[first], [second]]


def test_partitions_of_an_unreported_generation_are_no_part_of_the_next_episode():
    spans = [span(5.0, until=AT + 600, given=AT + 500), span(1.0, until=AT + 1_100, given=AT + 1_000)]
    events = [reported(1, AT), reported(3, AT + 1_000)]
    assert [len(each.spans) for each in episodes(events, spans, (), "g")] == [0, 2]
    assert [len(each.spans) for each in episodes(events, spans, (), "g", [AT + 500])] == [0, 1]
    found = coverage({"g": Group(Fact("generation", 2, AT + 500, "0:2"))}, events, ())
    assert unreported(found, "g", Group(), events) == [AT + 500]
    assert unreported(found, "other", Group(), events) == []


@pytest.mark.parametrize(
    ("acts", "reason", "kind"),
    [
        ([("start", 99_000)], "revoked", "start"),
        ([("start", 99_000), ("close", 99_500)], "revoked", "mixed"),
        ([("close", 97_900)], "closing", "clean leave"),
        ([("kill", 97_900)], "killed", "kill"),
        ([("busy", 97_900)], "busy", "kick"),
        ([("rolling", 90_000), ("close", 97_900), ("rolled", 99_000)], "closing", "rolling restart"),
        ([], "revoked", "unknown"),
    ],
)
def test_the_kind_of_change_follows_from_the_actions(acts, reason, kind):
    acts = [{"do": do, "at": at, "group": "g"} for do, at in acts]
    (episode,) = episodes([reported()], [span(reason=reason)], acts, "g")
    assert episode.kind == kind


@pytest.mark.parametrize(
    ("name", "begins", "ends", "kind"),
    [
        ("outage", -20_000, -10_000, "brokers"),
        ("outage", 1_000, 20_000, "brokers"),
        ("outage", 7_000, 20_000, "unknown"),
        ("open transactions", -20_000, -10_000, "unknown"),
    ],
)
def test_a_broker_fault_before_the_first_commit_determines_the_kind_of_change(name, begins, ends, kind):
    faults = (("fault", begins), ("fault over", ends))
    acts = [{"do": do, "name": name, "at": AT + at} for do, at in faults]
    (episode,) = episodes([reported()], [span()], acts, "g")
    assert episode.kind == kind


def test_a_stall_that_ends_in_a_later_episode_determines_the_kind_of_change_if_none_ended_before():
    """A second member joins before the first one of a new group got its callback."""
    acts = [{"do": "start", "at": AT - 900, "group": "g"}]
    late = span(4.0, until=AT + 3_000, reason="empty")
    first, second = episodes([reported(), reported(2, AT + 500)], [late], acts, "g")
    assert (first.kind, second.kind) == ("group start", "group start")
    (episode,) = episodes([reported()], [late, span(0.5)], acts, "g")
    assert episode.kind == "start"


def test_two_observers_disagree_if_both_name_a_trigger():
    causes = ("member_left", "member_left"), ("member_left", "member_gone"), ("rejoin", "unknown"), ("rejoin", "rejoin")
    one, other = ([reported(number, trigger=pair[index]) for number, pair in enumerate(causes)] for index in (0, 1))
    other[3] = reported(4, trigger="unknown")
    assert disagreements(one, other) == {"both": 3, "differ": 1, "unknown to one": 1}


class Group:
    """A history with the parts that facts need."""

    type = "classic"
    hidden = MappingProxyType({})

    def __init__(self, *facts):
        self.facts = facts
        self.states = [State(fact.at_ms, fact.number, 1, where=fact.where) for fact in facts]


def test_facts_are_missed_invented_and_reported_twice():
    group = Group(*(Fact("generation", number, number * 10, f"0:{number}") for number in (1, 2, 3)))
    events = [reported(1, 10), reported(2, 20), replace(reported(2, 20), id="another"), reported(7, 70)]
    found = coverage({"g": group}, events, ())
    assert (found.expected, found.reported) == (3, 2)
    assert [case[2] for case in found.missed] == [3]
    assert [case[2] for case in found.invented] == [7]
    assert [case[2] for case in found.twice] == [2]


def test_events_of_records_that_the_judge_possibly_read_too_late_are_not_judged():
    found = coverage({"g": Group()}, [reported(7, 70), reported(8, 80)], (), [(65, 75, {"0:1"})])
    assert [[case[2] for case in cases] for cases in (found.unread, found.invented)] == [[7], [8]]


def test_events_of_records_a_millisecond_apart_are_matched_separately():
    """Static members that return together: each record has the same generation."""
    first, second = (replace(reported(18, at), id=f"at {at}") for at in (10, 11))
    group = Group(*(Fact("replaced", 18, at, f"0:{at}") for at in (10, 11)))
    found = coverage({"g": group}, [first, second], ())
    assert (found.reported, found.twice, found.invented) == (2, [], [])
    found = coverage({"g": group}, [first], ())
    assert ([case[3] for case in found.missed], found.twice) == ([11], [])
    found = coverage({"g": group}, [first, second, replace(first, id="another")], ())
    assert [case[2] for case in found.twice] == [18]


def test_events_of_records_of_the_same_millisecond_are_matched_separately():
    group = Group(*(Fact("replaced", 18, 10, f"0:{offset}") for offset in (1, 2)))
    found = coverage({"g": group}, [replace(reported(18, 10), id=name) for name in "ab"], ())
    assert (found.reported, found.twice) == (2, [])


@pytest.mark.parametrize(("survivors", "excused"), [({"0:1"}, 0), (set(), 1), (None, 1)])
def test_a_fact_is_excused_only_if_its_record_was_compacted_while_the_observer_was_down(survivors, excused):
    group = Group(Fact("generation", 1, 10, "0:1"))
    found = coverage({"g": group}, [], [(5, 15, survivors)])
    assert (len(found.compacted), len(found.missed)) == (excused, 1 - excused)
    assert len(coverage({"g": group}, [], [(11, 15, set())]).missed) == 1


def test_a_fact_needs_all_records_since_the_fact_before():
    group = Group(Fact("generation", 1, 10, "0:1"), Fact("generation", 3, 30, "0:3"))
    group.states.insert(1, State(20, 2, 1, where="0:2"))
    events = [reported(1, 10)]
    assert len(coverage({"g": group}, events, [(15, 35, {"0:1", "0:3"})]).compacted) == 1
    assert len(coverage({"g": group}, events, [(15, 35, {"0:2", "0:3"})]).missed) == 1


@pytest.mark.parametrize("fact", [Fact("aborted", 2, 30, "0:3"), Fact("generation", 2, 30, "0:3", 0)])
def test_a_gap_and_a_last_departure_also_need_the_state_before_unless_it_was_read_earlier(fact):
    def found(fact, since, *survivors):
        group = Group(Fact("generation", 1, 20, "0:2", 1), fact)
        group.states[:] = State(20, 1, 1, where="0:2"), State(30, 3, 1, where="0:3")
        return coverage({"g": group}, [reported(1, 20)], [(since, 35, set(survivors))])

    assert len(found(fact, 15, "0:3").compacted) == 1
    assert len(found(fact, 15, "0:2", "0:3").missed) == 1
    assert len(found(fact, 25, "0:3").missed) == 1
    assert len(found(replace(fact, kind="generation", members=1), 15, "0:3").missed) == 1


def test_an_aborted_generation_is_reported_by_its_number():
    group = Group(Fact("aborted", 2, 10, "0:1"))
    assert coverage({"g": group}, [replace(reported(2, 10), kind="aborted")], ()).reported == 1
    assert coverage({"g": group}, [reported(2, 10)], ()).missed != []


@pytest.mark.parametrize("kind", ["aborted", "generation"])
def test_facts_that_the_judge_could_not_read_are_optional(kind):
    group = Group(Fact("hidden", 2, 10, "0:1"))
    assert vars(coverage({"g": group}, [], ())) == vars(Coverage())
    found = coverage({"g": group}, [replace(reported(2, 5), kind=kind)], ())
    assert (found.expected, found.reported, found.invented) == (1, 1, [])


def test_the_highest_revision_of_an_id_is_kept_and_the_first_of_equal_ones():
    first, better, same = reported(upper=9.0), reported(upper=5.0, revision=1), reported(upper=7.0, revision=1)
    assert kept([first, better, same]) == [better]


def test_the_fields_of_an_event_are_read():
    row = {
        "kind": "generation", "event_id": "e", "group": "g", "generation": 4, "timestamp_ms": 5, "closes_episode": True,
        "stall": {"basis": "bound", "lower_seconds": 0.5, "seconds": 2.0, "partition_seconds": 3.0},
        "trigger": "rejoin", "causes": ["rejoin"], "phases": {"started_ms": 3}, "lost": None,
    }  # fmt: skip
    event = read_event(row)
    assert (event.lower_s, event.upper_s, event.exact, event.stalled_s, event.started_ms) == (0.5, 2.0, False, 3.0, 3)
    assert read_event({**row, "stall": None}).bounded is False
    assert read_event({**row, "kind": "member"}) is None


LOG = (
    "14:51:57.640 [x] INFO a.B - [Group id=2] Dynamic member with unknown member id joins group g in Empty state. x\n"
    "14:51:57.878 [x] INFO a.B - [Group id=2] Preparing to rebalance group g in state PreparingRebalance with old "
    "generation 3 (reason: explicit `LeaveGroup` request for (a) members.).\n"
)


def test_the_brokers_log_has_the_time_and_reason_of_a_rebalances_start():
    began_ms = 1_795_531_000_000
    ((at, generation, reason),) = beginnings([LOG], began_ms)["g"]
    assert (generation, cause_of(reason)) == (3, "member_gone")
    assert at - first_joins([LOG], began_ms)["g"][0] == pytest.approx(238)
    assert cause_of("Adding new member a") == "member_joined"
    assert cause_of("removing member a on heartbeat expiration") == "member_gone"
    assert cause_of("something new") is None


def test_the_brokers_log_has_the_time_at_which_a_group_became_empty():
    began_ms = 1_795_531_000_000
    line = (
        "03:32:21.050 [x] INFO GroupMetadataManager - [GroupCoordinator id=1] Group g with generation 4 is now empty."
    )
    ((at, generation),) = emptied([LOG, line], began_ms)["g"]
    assert (generation, at % 60_000) == (4, 21_050)
    late = "03:32:22.010 WARN - Failed to write empty metadata for group g: This is not the correct coordinator."
    assert emptied([f"{line}\n{late}", LOG], began_ms) == {"g": []}, "another broker had the group already"


def test_a_client_that_only_asked_for_a_member_id_did_not_join():
    """Seed 7: a Java member that had been removed asked, and closed."""
    at = "03:32:21.050 [x] INFO GroupMetadataManager - [GroupCoordinator id=1] "
    asks = (
        at
        + "Dynamic member with unknown member id joins group g in Empty state. Created a new member id {} and request"
    )
    joins = at + "Pending dynamic member with id {} joins group g in Empty state. Adding to the group now."
    texts = ["\n".join([asks.format("a-1"), asks.format("b-1")]), joins.format("b-1")]
    assert len(first_joins(texts, 1_795_531_000_000)["g"]) == 2
    assert first_joins(texts[:1], 1_795_531_000_000) == {}


def test_triggers_are_compared_for_mixed_causes():
    mixed = reported(causes=("member_gone", "member_joined"), trigger="member_gone")
    log = [(AT - 500, 0, "Adding new member x"), (AT - 100, 0, "explicit `LeaveGroup` request")]
    found = episodes([mixed], [], (), "g")
    assert triggers(found, log, cause_of)[0] == {"not first": 1}
    assert triggers(found, log[1:], cause_of)[0] == {"first": 1}
    assert triggers(episodes([replace(mixed, causes=("member_gone",))], [], (), "g"), log, cause_of)[0] == {}


def test_counters_are_compared_with_the_measured_stalls():
    text = 'kafka_rebalance_stalled_partition_seconds_total{consumergroup="g",x="1"} 2.5\n'
    spans = [span(2.0, shortest=1.5), span(1.0), replace(span(9.0), until=FOREVER)]
    row, total = compared(text, {"g": spans})
    assert (row["reported"], row["reported upper"], row["real least"], row["real most"]) == (2.5, None, 2.5, 3.0)
    assert total == {**row, "group": "all"}
    assert too_high([row, total]) == []
    assert too_high(compared(text, {"g": spans[1:], "other": spans})) == ["g"]
