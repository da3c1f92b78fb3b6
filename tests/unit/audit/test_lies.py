"""The audit finds and names each kind of false event, for each type of group."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from rebalance_agent.model.episode import Basis, FailureReason, Stall, Trigger
from rebalance_agent.model.events import AbortedEvent, GenerationEvent, GroupGoneEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.group_event import event_id
from rebalance_agent.tracking.observations import Tick
from rebalance_agent.tracking.tracker import Tracker
from support.observer.posted import ledger_of, posted
from support.observer.views import member_event
from support.tracker.epoch_model import EpochCoordinator
from support.tracker.epochs import ID, named
from support.tracker.tracking import T0, WHOLE, feed, listed, member, record, tombstone, topics

DOCS = Path(__file__).parents[3] / "docs"
EAGER = (
    record(0, 0),
    listed(500, "g"),
    record(1_000, 1, member("a", (0, 1, 2, 3)), joined=900),
    listed(4_000, "g"),
    record(5_000, 2, member("a", (0, 1)), member("b", (2, 3)), joined=4_500),
    listed(8_000, "g"),
    record(9_000, 4, member("a", (0, 1, 2, 3)), joined=8_990),
    listed(12_000, "g"),
    record(13_000, 5, joined=12_900),
    tombstone(20_000),
)
"""With an aborted generation, 3, and a deletion."""


def _cooperative(at, number, *members, joined=None):
    return record(at, number, *members, joined=at - 10 if joined is None else joined, protocol="cooperative-sticky")


COOPERATIVE = (
    record(0, 0),
    listed(500, "g"),
    _cooperative(1_000, 1, member("a", (0, 1, 2, 3)), joined=900),
    listed(4_000, "g"),
    _cooperative(5_000, 2, member("a", (0, 1), owned=(0, 1, 2, 3)), member("b")),
    listed(5_500, "g"),
    _cooperative(7_000, 3, member("a", (0, 1), owned=(0, 1)), member("b", (2, 3))),
    listed(8_000, "g"),
    _cooperative(9_000, 5, member("a", (0, 1, 2, 3), owned=(0, 1))),
    listed(12_000, "g"),
    record(13_000, 6, joined=12_900),
    tombstone(20_000),
)
"""With an episode of two generations, 2 and 3."""


def _assigned(group_type):
    """A group whose coordinator assigns: a member joins, a second one joins, the first one leaves, all leave,
    deletion."""
    coordinator = EpochCoordinator(4, group_type=group_type)
    for step in ("join a", "join b", "leave a"):
        action, name = step.split()
        coordinator.step(name, action, 2_000)
        coordinator.settle()
    coordinator.delete()
    return [each for batch in coordinator.batches for each in batch]


def _history(observations, seen):
    last_ms = max(T0, *(each.timestamp_ms for each in observations if hasattr(each, "timestamp_ms")))
    tracker = Tracker("cluster", settle_ms=1_000)
    events = list(feed(tracker, seen, WHOLE, *observations, Tick(last_ms + 400_000)))
    records = [each for each in observations if hasattr(each, "timestamp_ms")]
    return [event for event in events if event.KIND != "rollout"], records


HISTORIES = {
    "eager": _history(EAGER, topics(0, t=4)),
    "cooperative": _history(COOPERATIVE, topics(0, t=4)),
    **{str(each): _history(_assigned(each), named(t=4)) for each in GroupType if each is not GroupType.CLASSIC},
}
CLASSIC, ASSIGNED = ("eager", "cooperative"), ("consumer", "share", "streams")


def judged(kind, events, **window):
    records = [posted(each, offset) for offset, each in enumerate(HISTORIES[kind][1])]
    return ledger_of(events, records, names={ID: "t"}, **window)


def reported(kind):
    return HISTORIES[kind][0]


def closing(kind):
    """The last event with previous owners and moved partitions."""
    return next(
        event
        for event in reversed(reported(kind))
        if isinstance(event, GenerationEvent) and event.closes_episode and event.members and event.previous_generation
    )


def shared_out(kind):
    """The event in which two members own all partitions."""
    return next(event for event in reported(kind) if len(getattr(event, "members", ())) == 2 and event.assigned)


def instead(kind, right, *wrong):
    return [each for event in reported(kind) for each in (wrong if event is right else (event,))]


def said(report):
    return [(each.number, each.what.rpartition(": ")[2]) for each in report.differences]


def shifted(event, **changes):
    """The event with another identity, and with that identity's id."""
    event = replace(event, **changes)
    number = getattr(event, "generation", 0)
    identity = event_id(event.KIND, event.cluster_id, event.group, event.group_type, number, event.timestamp_ms)
    return replace(event, event_id=identity)


def _later(event):
    """Changes that move it by a millisecond."""
    at_ms = event.timestamp_ms + 1
    phases = {"phases": replace(event.phases, completed_ms=at_ms)} if isinstance(event, GenerationEvent) else {}
    return {"timestamp_ms": at_ms, **phases}


@pytest.mark.parametrize("kind", HISTORIES)
def test_correct_events_are_clean_and_contain_every_fact_that_later_tests_falsify(kind):
    report = judged(kind, reported(kind), once=True)
    assert (said(report), report.unjudged, report.agreed) == ([], {}, len(reported(kind)))
    assert {type(event) for event in reported(kind)} >= {GenerationEvent, GroupGoneEvent}
    assert len(closing(kind).members) == 1
    assert closing(kind).stall is not None


# Identity: which facts happened


@pytest.mark.parametrize("kind", HISTORIES)
def test_every_dropped_event_is_reported_as_missing(kind):
    for event in reported(kind):
        what = str(event.KIND) if event.KIND != "group_gone" else "deletion"
        report = judged(kind, [each for each in reported(kind) if each is not event])
        missed = [each for each in report.differences if "has no event" in each.what]
        assert len(missed) == 1, event
        words = {"generation": "epoch" if kind in ASSIGNED else "generation", "aborted": "aborted generation"}
        assert missed[0].what.startswith(words.get(what, what))
        assert missed[0].number == getattr(event, "generation", missed[0].number)


@pytest.mark.parametrize("kind", HISTORIES)
def test_every_event_repeated_under_another_id_is_an_invention(kind):
    for event in reported(kind):
        twin = replace(event, event_id="0" * 32)
        (difference,) = judged(kind, [*reported(kind), twin]).differences
        assert difference.what.endswith("has no record")


@pytest.mark.parametrize("kind", HISTORIES)
def test_each_doubled_row_of_a_table_is_a_difference(kind):
    for event in reported(kind):
        (difference,) = judged(kind, [*reported(kind), event], once=True).differences
        assert difference.what.endswith("was published twice")


@pytest.mark.parametrize("kind", HISTORIES)
def test_an_event_without_a_fact_is_an_invention(kind):
    for event in reported(kind):
        later = shifted(event, **_later(event))
        assert judged(kind, [*reported(kind), later]).differences[0].what.endswith("has no record")
        if not isinstance(event, GroupGoneEvent):
            other = shifted(event, generation=77)
            assert said(judged(kind, [*reported(kind), other])) == [(77, f"{_word(event)} 77 has no record")]


def _word(event):
    return "aborted generation" if isinstance(event, AbortedEvent) else "generation"


@pytest.mark.parametrize("kind", HISTORIES)
def test_an_event_with_another_group_type_is_an_invention(kind):
    right = closing(kind)
    other = GroupType.SHARE if kind == "consumer" else GroupType.CONSUMER
    found = judged(kind, instead(kind, right, shifted(right, group_type=other))).differences
    assert {each.what.partition(" ")[2].partition(" ")[2] for each in found} >= {
        "has no event",
        "has no record",
    }


def _names(event):
    """Other values for the ingredients of its id."""
    yield {"group": "other"}, "of 'other'"
    yield _later(event), f"{event.timestamp_ms + 1} in the event"
    if not isinstance(event, GroupGoneEvent):
        yield {"generation": 77}, f"the event is {_word(event)} 77"


@pytest.mark.parametrize("kind", HISTORIES)
def test_an_event_with_the_id_of_another_one_is_named(kind):
    """Instead of the correct event, and in addition to it, in any order."""
    for right in reported(kind):
        for change, words in _names(right):
            wrong = replace(right, **change)
            found = said(judged(kind, instead(kind, right, wrong)))
            assert [words in what for _, what in found] == [True], change
            for both in ((right, wrong), (wrong, right)):
                found = judged(kind, instead(kind, right, *both)).differences
                assert any(" has the id of " in each.what for each in found), change


def test_an_abortion_under_a_generations_id_is_named():
    right = closing("eager")
    named = {each.name: getattr(right, each.name) for each in fields(AbortedEvent) if hasattr(right, each.name)}
    wrong = AbortedEvent(**{**named, "reason": FailureReason.ABORTED})
    found = said(judged("eager", instead("eager", right, wrong)))
    assert (right.generation, f"the event is aborted generation {right.generation}") in found


@pytest.mark.parametrize("kind", CLASSIC)
def test_aborted_generations_are_counted(kind):
    right = next(event for event in reported(kind) if isinstance(event, AbortedEvent))
    assert said(judged(kind, instead(kind, right, replace(right, generations=2)))) == [
        (right.generation, "1 aborted generations in a row in the records, 2 in the event")
    ]


# Fields of one fact


def _numbers(event):
    """Fields of a closing event that are sums of what records show, and by how much they are wrong."""
    yield "moved", {"moved": event.moved + 1}
    yield "moved", {"moved": event.moved - 1}
    yield "taken", {"revoked": event.revoked + 1}
    yield "taken", {"lost_min": event.lost_min + 1, "lost": None}
    yield "given", {"assigned": event.assigned - 1}
    yield "noop", {"noop": not event.noop}
    yield "follow-ups", {"followups": event.followups + 1}
    yield "began with", {"episode_generation": event.episode_generation - 1}
    yield "the previous one is", {"previous_generation": event.previous_generation - 1}


@pytest.mark.parametrize("kind", HISTORIES)
def test_a_wrong_number_is_named(kind):
    right = closing(kind)
    for word, change in _numbers(right):
        found = said(judged(kind, instead(kind, right, replace(right, **change))))
        assert len(found) == 1, change
        assert found[0][0] == right.generation
        assert word in found[0][1], change


def _members(event):
    """Wrong values of one member."""
    (one,) = event.members
    partitions = one.assigned["t"]
    yield (), "0 in the event, or have other ids"
    yield (one, replace(one, member_id="somebody")), "2 in the event, or have other ids"
    for change in ({"member_id": "x"}, {"client_id": "x"}, {"host": "/10.9.9.9"}, {"instance_id": "x"}):
        yield (replace(one, **change),), "1 in the event, or have other ids"
    for numbers in (partitions[1:], (*partitions[1:], 9), (*partitions, 9)):
        yield (replace(one, assigned={"t": numbers}),), "or have other owners"
    yield (replace(one, assigned={"u": partitions}),), "or have other owners"


@pytest.mark.parametrize("kind", HISTORIES)
def test_a_wrong_member_is_named(kind):
    right = closing(kind)
    for members, words in _members(right):
        ((number, what),) = said(judged(kind, instead(kind, right, replace(right, members=members))))
        assert number == right.generation
        assert what.endswith(words), members


@pytest.mark.parametrize("kind", HISTORIES)
def test_exchanged_partitions_of_two_members_are_a_difference(kind):
    right = shared_out(kind)
    one, two = right.members
    swapped = (replace(one, assigned=two.assigned), replace(two, assigned=one.assigned))
    ((number, what),) = said(judged(kind, instead(kind, right, replace(right, members=swapped))))
    assert number == right.generation
    assert what.endswith("or have other owners")


@pytest.mark.parametrize("kind", CLASSIC)
@pytest.mark.parametrize(
    "change",
    [{"topics": ("u",)}, {"owned": {"t": (3,)}}, {"session_timeout_ms": 1}, {"rebalance_timeout_ms": 1}],
    ids=lambda change: next(iter(change)),
)
def test_a_wrong_subscription_of_a_member_is_named(kind, change):
    right = closing(kind)
    (one,) = right.members
    wrong = replace(right, members=(replace(one, **change),))
    expected = "its members' subscriptions, owned or awaited partitions differ from the record"
    assert said(judged(kind, instead(kind, right, wrong))) == [(right.generation, expected)]


@pytest.mark.parametrize("kind", CLASSIC)
def test_a_wrong_assignor_leader_or_join_phase_is_named(kind):
    right = closing(kind)
    wrong = replace(right, assignor="mine")
    assert said(judged(kind, instead(kind, right, wrong)))[0][1].endswith("mine in the event")
    assert right.leader_member_id in {member.member_id for member in right.members}
    wrong = replace(right, leader_member_id="another")
    assert said(judged(kind, instead(kind, right, wrong)))[0][1].endswith("another in the event")
    joined_ms = right.phases.joined_ms - 1
    wrong = replace(right, phases=replace(right.phases, joined_ms=joined_ms))
    assert said(judged(kind, instead(kind, right, wrong)))[0][1].endswith(f"{joined_ms} in the event")


def _moments(event):
    """Wrong times, and the text of each difference."""
    phases, completed_ms = event.phases, event.phases.completed_ms
    yield {"completed_ms": completed_ms + 1}, f"the event has {completed_ms + 1} for its completion"
    yield {"joined_ms": phases.joined_ms - 1}, f"{phases.joined_ms - 1} in the event"
    if event.group_type is GroupType.CLASSIC:
        yield {"started_ms": 1}, ", but the event has 1"
        yield {"joined_ms": None, "joined_evidence": None}, "None in the event"
    else:
        yield {"started_ms": 1}, "1 in the event"
        yield {"started_ms": phases.started_ms + 1}, f"{phases.started_ms + 1} in the event"


@pytest.mark.parametrize("kind", HISTORIES)
def test_a_time_that_contradicts_the_records_is_named(kind):
    right = closing(kind)
    for change, words in _moments(right):
        wrong = replace(right, phases=replace(right.phases, **change))
        ((number, what),) = said(judged(kind, instead(kind, right, wrong)))
        assert (number, what.endswith(words)) == (right.generation, True), change


@pytest.mark.parametrize("kind", HISTORIES)
def test_an_episode_without_an_end_is_named(kind):
    """For any announced follow-up, also one without end: its cost would never be reported."""
    facts = [event for event in reported(kind) if isinstance(event, GenerationEvent)]
    for right in facts:
        if not right.closes_episode:
            continue
        wrong = replace(right, closes_episode=False, stall=None, followups=0)
        found = judged(kind, instead(kind, right, wrong)).differences
        assert any("stays open, although no member has a partition" in each.what for each in found)
        at_the_end = [each.number for each in found if "has no closing event" in each.what]
        assert at_the_end == ([right.generation] if right is facts[-1] else []), right.generation


def test_an_episode_that_announces_its_follow_up_and_is_never_closed_is_named():
    """Until its last event arrives; the generation after it may be too recent to be reported."""
    events, records = HISTORIES["cooperative"]
    first = next(at for at, event in enumerate(events) if getattr(event, "followups", 0) == 0 and not _closes(event))
    until = next(at for at, each in enumerate(records) if each.timestamp_ms == events[first].timestamp_ms) + 1
    posts = [posted(each, offset) for offset, each in enumerate(records)]
    found = ledger_of(events[: first + 1], posts[:until])
    assert [each.what for each in found.differences] == ["the episode of 2 has no closing event"]
    later_ms = records[until].timestamp_ms
    pending = ledger_of(events[: first + 1], posts[: until + 1], until_ms=later_ms, grace_ms=1)
    assert (pending.clean, pending.pending) == (True, 1)


def _closes(event):
    return getattr(event, "closes_episode", True)


@pytest.mark.parametrize("kind", HISTORIES)
def test_phases_and_causes_that_contradict_each_other_are_named(kind):
    right = closing(kind)
    backwards = replace(right.phases, started_ms=right.phases.completed_ms + 1)
    assert "out of order" in judged(kind, instead(kind, right, replace(right, phases=backwards))).differences[0].what
    more = replace(right, lost=right.lost_min + 1)
    assert "lost partitions, but at least" in judged(kind, instead(kind, right, more)).differences[0].what
    wrong = replace(right, trigger=Trigger.UNKNOWN)
    assert "not the first of its causes" in said(judged(kind, instead(kind, right, wrong)))[0][1]


JUDGED = {
    "event_id", "cluster_id", "group", "timestamp_ms", "source", "group_type", "generation", "previous_generation",
    "episode_generation", "closes_episode", "followups", "assignor", "phases", "stall", "members", "moved",
    "revoked", "assigned", "lost", "lost_min", "noop", "revision", "part", "parts", "trigger", "causes",
    "leader_member_id",
}  # fmt: skip
"""Checked fields of a generation's event, each by a test of the ledger; `docs/verify.md` lists the others."""


def test_unchecked_fields_of_an_event_are_documented():
    text = (DOCS / "verify.md").read_text().partition("## What is not judged")[2].partition("\n## ")[0]
    assert {each.name for each in fields(GenerationEvent) if f"`{each.name}`" not in text} <= JUDGED


# Durations


def _stalls(stall):
    """Impossible stalls."""
    yield replace(stall, lower_seconds=stall.seconds + 1), "at most"
    yield replace(stall, lower_seconds=-1.0), "at most"
    yield replace(stall, partition_seconds=-1.0), "partition-seconds"
    yield replace(stall, lower_seconds=1.0, seconds=1.0, partition_seconds=0.9), "1.0 s and 0.9 partition-seconds"
    bounds = {"lower_seconds": 0.0, "partition_seconds": 0.0, "basis": Basis.BOUND}
    yield replace(stall, seconds=9.0, upper_partition_seconds=8.9, **bounds), "9.0 s and 8.9 partition-seconds"
    yield (
        replace(stall, seconds=9.0, partition_seconds=9.9, upper_partition_seconds=9.8),
        "at least 9.9 and at most 9.8 partition-seconds",
    )
    yield replace(stall, lower_seconds=stall.seconds, seconds=stall.seconds + 1, basis=Basis.EXACT), "exact"
    yield None, "it has no stall"


@pytest.mark.parametrize("kind", HISTORIES)
def test_an_impossible_stall_is_named(kind):
    right = closing(kind)
    for stall, words in _stalls(right.stall):
        found = said(judged(kind, instead(kind, right, replace(right, stall=stall))))
        assert [number for number, _ in found] == [right.generation], stall
        assert words in found[0][1]


@pytest.mark.parametrize("kind", ["eager", "cooperative", "consumer", "streams"])
def test_a_stall_shorter_than_the_time_without_an_owner_is_a_difference(kind):
    """Members of a share group own partitions as soon as they are assigned."""
    right = shared_out(kind)
    short = replace(right.stall, lower_seconds=0.0, seconds=0.001, partition_seconds=0.0)
    ((number, what),) = said(judged(kind, instead(kind, right, replace(right, stall=short)), reports=True))
    assert number == right.generation
    assert what.startswith("a partition had no owner for")


def test_a_reported_stall_may_begin_after_the_record_that_took_the_partition():
    """franz-go's members got their assignments 0.7 s after the record, since its replicas were slow."""
    right = shared_out("cooperative")
    events = instead("cooperative", right, replace(right, stall=replace(right.stall, lower_seconds=0.0, seconds=1.3,
                     partition_seconds=0.0, upper_partition_seconds=2.6)))  # fmt: skip
    member_reports = [member_event(group=right.group)]
    assert said(judged("cooperative", [*events, *member_reports], reports=True)) == []
    assert len(said(judged("cooperative", events, reports=True))) == 2


@pytest.mark.parametrize(
    ("kind", "longest", "whole"),
    [("eager", 0.5, 2.0), ("cooperative", 2.0, 4.0), ("consumer", 0.1, 0.2), ("streams", 0.1, 0.2)],
)
def test_partition_seconds_below_the_time_without_owners_are_a_difference(kind, longest, whole):
    """All four partitions stop in an eager group, the two moved ones in the others."""
    right = shared_out(kind)
    least = replace(
        right.stall, lower_seconds=0.0, seconds=longest, partition_seconds=0.0, upper_partition_seconds=whole
    )
    assert said(judged(kind, instead(kind, right, replace(right, stall=least)), reports=True)) == []
    short = replace(least, upper_partition_seconds=whole - 0.01)
    ((number, what),) = said(judged(kind, instead(kind, right, replace(right, stall=short)), reports=True))
    assert number == right.generation
    assert what.startswith(f"partitions had no owner for {whole} partition-seconds, ")


@pytest.mark.parametrize("kind", HISTORIES)
def test_a_stall_that_began_long_before_the_previous_record_is_named(kind):
    right = closing(kind)
    long = replace(
        right.stall, lower_seconds=3_600.0, seconds=3_600.0, partition_seconds=7_200.0, upper_partition_seconds=7_200.0
    )
    ((number, what),) = said(judged(kind, instead(kind, right, replace(right, stall=long))))
    assert number == right.generation
    assert what.startswith("its stall is at least 3600.0 s, but the records allow at most")


@pytest.mark.parametrize("kind", HISTORIES)
def test_a_stall_without_reports_that_is_longer_than_its_rebalance_is_a_difference(kind):
    """It cannot have begun before the previous record, unless a member's report shows it."""
    right = closing(kind)
    before = next(each for each in reported(kind) if getattr(each, "generation", None) == right.previous_generation)
    longest = (right.timestamp_ms - before.timestamp_ms) / 1000
    for more, wrong in ((0.0, False), (0.01, True)):
        stall = Stall(None, longest + more, longest + more, Basis.BOUND)
        events = instead(kind, right, replace(right, stall=stall))
        found = said(judged(kind, events, reports=True))
        assert [number for number, _ in found] == [right.generation] * wrong
        assert all(what.startswith(f"its stall is at least {longest + more} s") for _, what in found)
        assert said(judged(kind, events)) == []
        assert said(judged(kind, [*events, member_event(group=right.group)], reports=True)) == []
