"""Groups that are known from the frames of their leaders: what they show, and when they are forgotten."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.model.episode import Evidence, Source
from rebalance_agent.model.events import AbortedEvent, GenerationEvent
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.model.reported.led_generation import LedGenerationEvent, LedMember
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.tracking.classic.led_group import DOUBTED_MS, LedGroup
from rebalance_agent.tracking.observations import DescribedGroup, GroupDescribed, GroupsListed, ListedGroup
from rebalance_agent.tracking.observed_record import observed_generation
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.tracking.views import MemberLoad
from support.tracker.tracking import T0, assigned, member, record, tick
from support.tracker.tracking import listed as polled

UUID = "2c1f4e0a-7c1b-4a57-9d0e-0d5b1f0c3a11"


def led(at, generation, owners, *, joined_ms=None, instance=None):
    """The observation of a generation; ``owners``: member's client -> its partitions of topic ``t``."""
    members = tuple(
        LedMember(
            f"{instance or client}-{UUID}",
            encode_subscription(ConsumerSubscription(3, ("t",))),
            encode_assignment(ConsumerAssignment(3, {"t": partitions} if partitions else {})),
            instance,
        )
        for client, partitions in owners.items()
    )
    at_ms = T0 + at
    joined_ms = at_ms if joined_ms is None else T0 + joined_ms
    facts = ("range", members[0].member_id, joined_ms, members, 45_000, 300_000, "process", generation)
    event = LedGenerationEvent(f"event-{generation}", "g", at_ms, generation, *facts)
    return observed_generation(event, at_ms)


def described(at, owners, state=GroupState.STABLE, coordinator=-1):
    loads = tuple(
        MemberLoad(f"{client}-{UUID}", None, client, "/h", {"t": partitions} if partitions else {})
        for client, partitions in owners.items()
    )
    return GroupDescribed(T0 + at, DescribedGroup("g", state, GroupType.CLASSIC, "range", loads, None, coordinator))


@pytest.fixture
def tracker():
    return Tracker("cluster", settle_ms=1_000)


def fed(tracker, *observations):
    return [event for observation in observations for event in tracker.observe(observation)]


def test_an_episode_does_not_wait_for_commits_that_cannot_be_read(tracker):
    (event,) = fed(tracker, led(0, 1, {"a": (0, 1)}), tick(1_500))
    assert event.generation == 1


def test_a_generation_has_its_members_and_its_source(tracker):
    (event,) = fed(tracker, led(0, 7, {"a": (0, 1), "b": (2,)}, joined_ms=-300), tick(60_000))
    assert (event.source, event.generation, event.previous_generation) == (Source.FRAMES, 7, None)
    assert [(member.client_id, member.host, member.assigned) for member in event.members] == [
        ("a", "", {"t": (0, 1)}),
        ("b", "", {"t": (2,)}),
    ]
    assert event.phases.sync_seconds == 0.3
    assert (event.moved, event.lost) == (None, None)
    view = tracker.view("g")
    assert (view.source, view.generation, view.metadata_bytes) == (Source.FRAMES, 7, None)


def test_the_client_of_a_static_member_is_unknown(tracker):
    (event,) = fed(tracker, led(0, 1, {"a": (0,)}, instance="one"), tick(60_000))
    (member,) = event.members
    assert (member.client_id, member.instance_id) == ("", "one")


def test_moves_follow_from_generations_in_a_row_and_missing_ones_are_not_aborted(tracker):
    observed = (led(0, 1, {"a": (0, 1)}), led(20_000, 2, {"a": (0,), "b": (1,)}), tick(40_000))
    events = fed(tracker, *observed, led(50_000, 5, {"a": (0, 1)}), tick(90_000))
    assert [type(event) for event in events] == [GenerationEvent] * 3
    assert [(event.generation, event.moved) for event in events] == [(1, 0), (2, 1), (5, None)]
    assert not any(isinstance(event, AbortedEvent) for event in events)


def test_a_group_is_forgotten_when_descriptions_show_another_generation_for_long(tracker):
    fed(tracker, led(0, 1, {"a": (0, 1)}), described(1_000, {"b": (0, 1)}))
    fed(tracker, described(999 + DOUBTED_MS, {"b": (0, 1)}))
    assert tracker.view("g").source is Source.FRAMES
    fed(tracker, described(1_000 + DOUBTED_MS, {"b": (0, 1)}))
    assert (tracker.view("g").source, tracker.view("g").generation) == (Source.ADMIN, None)


@pytest.mark.parametrize(
    "between",
    [
        described(1_500, {"a": (0, 1)}),
        led(1_500, 2, {"b": (0, 1)}),
    ],
    ids=["the same owners", "a new generation"],
)
def test_a_doubt_ends_with_what_explains_it(tracker, between):
    fed(tracker, led(0, 1, {"a": (0, 1)}), described(1_000, {"b": (0, 1)}), between)
    fed(tracker, described(1_000 + DOUBTED_MS, {"c": (0, 1)}))
    assert tracker.view("g").source is Source.FRAMES


@pytest.mark.parametrize(
    ("first_at", "facts"),
    [
        (-1 - DOUBTED_MS, ({"b": (0, 1)},)),
        (2_000, ({}, GroupState.PREPARING_REBALANCE)),
        (2_000, ({"a": (), "b": ()}, GroupState.COMPLETING_REBALANCE)),
    ],
    ids=["asked before", "joining", "syncing"],
)
def test_descriptions_without_a_result_prove_nothing(tracker, first_at, facts):
    fed(tracker, led(0, 1, {"a": (0, 1)}), *(described(at, *facts) for at in (first_at, first_at + DOUBTED_MS)))
    assert tracker.view("g").source is Source.FRAMES


def test_a_group_without_members_is_known_from_descriptions(tracker):
    fed(tracker, led(0, 1, {"a": (0, 1)}), *(described(at, {}, GroupState.EMPTY) for at in (1_000, 1_000 + DOUBTED_MS)))
    assert (tracker.view("g").source, tracker.view("g").state) == (Source.ADMIN, GroupState.EMPTY)


def listed(at, *groups):
    shown = tuple(ListedGroup(group, GroupState.STABLE, GroupType.CLASSIC) for group in groups)
    return GroupsListed(T0 + at, T0 + at, frozenset(), shown)


def test_a_group_that_is_not_listed_any_more_is_forgotten(tracker):
    fed(tracker, led(0, 1, {"a": (0, 1)}), listed(1_000, "g"))
    assert tracker.groups() == ["g"]
    fed(tracker, listed(2_000))
    assert tracker.groups() == []


@pytest.mark.parametrize(
    "outdated",
    [
        [described(at, {"b": (0, 1)}) for at in (100, 100 + DOUBTED_MS)],
        [listed(100)],
    ],
    ids=["described otherwise", "not listed"],
)
def test_the_last_generation_is_published_before_the_group_is_forgotten(outdated):
    """Otherwise the generation would never be published, since its episode had not settled yet."""
    events = fed(Tracker("cluster", settle_ms=60_000), led(0, 1, {"a": (0, 1)}), *outdated)
    assert [(event.generation, event.closes_episode) for event in events] == [(1, True)]


def test_a_group_known_from_records_is_kept_whatever_is_described(tracker):
    fed(tracker, record(0, 1), *(described(at, {"b": (0, 1)}) for at in (1_000, 2_000, 3_000)), listed(4_000))
    assert tracker.view("g").source is Source.RECORDS


SAME = [(at, 1) for at in range(5_000, 35_000, 5_000)]


@pytest.mark.parametrize(
    ("answers", "changes"),
    [
        (SAME, [(5_100, 5_100)]),
        ([*SAME, (33_000, 2)], [(5_100, 5_100), (30_000, 33_100)]),
        ([*SAME, (32_000, 2), (34_000, 1)], [(5_100, 5_100), (30_000, 32_100), (32_000, 34_100)]),
        (SAME[3:], [(10_000, 20_100)]),  # the observer started then
        (SAME[:2], [(5_100, 5_100), (10_000, 34_900)]),  # no description since 10 s
        ([(-10_000, 1), (10_000, 1)], [(-9_900, -9_900)]),  # they are 20 s apart
        ([(10_000, -1)], [(10_000, 34_900)]),
        ([], [(10_000, 34_900)]),
    ],
)
def test_descriptions_show_when_the_coordinator_may_have_changed(tracker, answers, changes):
    """The generation before completed at 10 s; the next one is reported at 34.9 s. Answers take 0.1 s."""
    fed(tracker, led(10_000, 7, {"a": (0,)}))
    state, context = LedGroup(), tracker._context
    before = tracker._groups.get("g").last
    for at, coordinator in answers:
        value = described(at, {"a": (0,)}, coordinator=coordinator).value
        state.describe(value, T0 + at, T0 + at + 100)
    found = state.coordinator_changes(before, led(34_900, 8, {"a": (0,)}), context)
    assert [(change.after_ms - T0, change.until_ms - T0) for change in found] == changes


@pytest.mark.parametrize(("moved_ms", "upper_s"), [(None, 347.0), (700_000, 450.5)])
def test_a_member_that_a_new_coordinator_removed_may_have_stopped_earlier(tracker, moved_ms, upper_s):
    """b was removed at 799 s. Its session timeout is 45 s, its poll interval 300 s; a new coordinator waits anew.

    The observer's clock is 3 s ahead, and is known to be so from another group's record.
    """
    ahead = 3_000

    def seen(at, generation, owners):
        return replace(led(at, generation, owners), seen_ms=T0 + at + ahead)

    def answer(at):
        coordinator = 1 if moved_ms is None or at < moved_ms else 2
        found = described(at + ahead, {"a": (0,), "b": (1,)}, coordinator=coordinator)
        return replace(found, answered_ms=found.at_ms)

    clock = replace(record(0, 1, member("x", (0,)), group="other"), seen_ms=T0 + ahead)
    steps = clock, seen(0, 1, {"a": (0,), "b": (1,)}), *(answer(at) for at in range(5_000, 795_000, 5_000))
    polls = polled(798_500 + ahead), polled(799_000 + ahead, "g"), polled(799_990 + ahead, "g")
    report = assigned(f"a-{UUID}", 800_000, 800_500, 2, (0, 1), received=804_000)
    fetched = replace(report, event=replace(report.event, evidence=Evidence.GATEWAY))
    events = fed(tracker, *steps, *polls, seen(800_000, 2, {"a": (0, 1)}), fetched, tick(900_000))
    stalls = [event.stall for event in events if isinstance(event, GenerationEvent) and event.generation == 2]
    assert stalls[-1].upper_partition_seconds == 800.5 + upper_s  # a may have asked for the rebalance itself
