"""What seats would have spared in a recorded past: only rebalances of deploys, and never more than is certain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.advice import history_of
from rebalance_agent.gateway.explain_rules import past_text
from rebalance_agent.gateway.past.past_seats import past_seats
from rebalance_agent.gateway.seat_rules import parse_seat_rules
from rebalance_agent.model.episode import Basis, Evidence, Phases, Source, Stall, Trigger
from rebalance_agent.model.events import GenerationEvent, MemberSnapshot
from rebalance_agent.model.group import GroupType, RebalanceProtocol

MEMBER = MemberSnapshot("", None, "app", "/h", ("t",), {}, {}, session_timeout_ms=45_000, rebalance_timeout_ms=300_000)
LEFT, JOINED, FAILED = Trigger.MEMBER_LEFT, Trigger.MEMBER_JOINED, Trigger.MEMBER_FAILED
T0 = 1_700_000_000_000
STALL = Stall(basis=Basis.BOUND, lower_seconds=0.5, seconds=1.0, partition_seconds=2.0, upper_partition_seconds=3.0)


def rule(hold=60, keep=0):
    return parse_seat_rules(f".*=observe,seats.hold.seconds={hold},seats.keep.seconds={keep}").of("g")


def member(name, **changes):
    return replace(MEMBER, member_id=name, assigned={"t": (0, 1)}, **changes)


class Past:
    """A group's rebalances, each from ``at`` to a second later (seconds)."""

    group_type, seconds = GroupType.CLASSIC, 1

    def __init__(self, *members):
        self.members, self.events, self.generation = {each.member_id: each for each in members}, [], 0
        self._write(0, (Trigger.GROUP_STARTED,), known=True)

    def step(self, at, *causes, come=(), gone=(), known=True, epochs=1):
        self.members = {name: each for name, each in self.members.items() if name not in gone}
        self.members |= {each.member_id: each for each in come}
        self._write(at, causes, known=known, epochs=epochs)
        return self

    def _write(self, at, causes, *, known, epochs=1):
        before, self.generation = self.generation, self.generation + epochs
        number, started_ms = self.generation, T0 + at * 1_000
        ended_ms = started_ms + self.seconds * 1_000
        self.events.append(
            GenerationEvent(
                event_id=f"e{number}", cluster_id="c", group="g", timestamp_ms=ended_ms, source=Source.RECORDS,
                group_type=self.group_type, generation=number, previous_generation=before or None,
                episode_generation=number, closes_episode=True, followups=0, assignor="range",
                protocol=RebalanceProtocol.EAGER,
                phases=Phases(started_ms=started_ms if known else None, joined_ms=None, completed_ms=ended_ms,
                              completed_evidence=Evidence.RECORD),
                trigger=causes[0], causes=tuple(causes), stall=STALL, members=tuple(self.members.values()),
                topics={"t": 4}, moved=None, needed=None, revoked=None, assigned=4, lost=None, unassigned=0, noop=False,
            )
        )  # fmt: skip

    def seats(self, admission=0, **settings):
        return past_seats(history_of(self.events), rule(**settings), admission)


class EpochPast(Past):
    """As `Past`, of a group of KIP-848: a rebalance takes 8 s, since members reach its epoch with their heartbeats."""

    group_type, seconds = GroupType.CONSUMER, 8


def deploy(**changes):
    """One of two members is replaced: the new one comes at 100 s, the old one leaves at 110 s."""
    new = member("new", **changes)
    return Past(member("a"), member("b")).step(100, JOINED, come=[new]).step(110, LEFT, gone=["a"])


def epoch_member(name, **changes):
    return member(name, **{"session_timeout_ms": None, **changes})


def epoch_deploy(left_at=110, **changes):
    past = EpochPast(epoch_member("a"), epoch_member("b"))
    new = epoch_member("new", **changes)
    return past.step(100, JOINED, come=[new]).step(left_at, LEFT, gone=["a"])


def test_a_deploy_with_surge_is_spared_with_the_stalls_of_both_rebalances():
    found = deploy().seats()
    assert (found.rebalances, found.spared) == (3, 2)
    assert (found.stalled_partition_seconds, found.vacant_partition_seconds) == (4.0, 0.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"topics": ("t", "u")},
        {"rack": "r"},
        {"session_timeout_ms": 10_000},
        {"instance_id": "static-1"},
        {"user_data": b"weight"},
    ],
)
def test_a_successor_that_differs_spares_nothing(changes):
    assert deploy(**changes).seats().spared == 0


@pytest.mark.parametrize(("hold", "spared"), [(11, 2), (10.9, 0)])
def test_the_newcomer_waits_no_longer_than_the_rule_says_by_the_worst_times(hold, spared):
    assert deploy().seats(hold=hold).spared == spared


def test_nor_than_half_of_its_rebalance_timeout():
    old = [member(name, rebalance_timeout_ms=20_000) for name in "ab"]
    past = Past(*old).step(100, JOINED, come=[member("new", rebalance_timeout_ms=20_000)])
    assert past.step(110, LEFT, gone=["a"]).seats().spared == 0


@pytest.mark.parametrize(("keep", "spared", "vacant"), [(0, 0, 0.0), (5, 0, 0.0), (6, 2, 12.0)])
def test_without_surge_it_depends_on_how_long_seats_are_kept_and_that_has_a_cost(keep, spared, vacant):
    past = Past(member("a"), member("b")).step(100, LEFT, gone=["a"]).step(105, JOINED, come=[member("new")])
    found = past.seats(keep=keep)
    assert (found.spared, found.vacant_partition_seconds) == (spared, vacant)


def test_another_rebalance_in_between_lets_the_newcomer_go():
    past = Past(member("a"), member("b")).step(100, JOINED, come=[member("new")])
    past.step(105, Trigger.SUBSCRIPTION_CHANGED).step(110, LEFT, gone=["a"])
    assert past.seats().spared == 0


def test_a_newcomer_takes_one_seat_and_who_grows_or_shrinks_spares_nothing():
    past = deploy().step(112, LEFT, gone=["b"])
    assert past.seats().spared == 2
    assert Past(member("a")).step(100, JOINED, come=[member("b")]).seats().spared == 0


def test_a_deploy_of_a_group_of_kip_848_is_spared_with_its_epochs():
    found = epoch_deploy().seats()
    assert (found.rebalances, found.spared, found.generations, found.group_type) == (3, 2, 2, GroupType.CONSUMER)
    assert epoch_deploy(rack="another", user_data=b"weight").seats().spared == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"topics": ("t", "u")},
        {"topics": ()},
        {"rebalance_timeout_ms": 10_000},
        {"rebalance_timeout_ms": None},
        {"instance_id": "static-1"},
        {"session_timeout_ms": 45_000},  # of the classic protocol
    ],
)
def test_a_successor_in_a_group_of_kip_848_that_differs_spares_nothing(changes):
    assert epoch_deploy(**changes).seats().spared == 0


@pytest.mark.parametrize(("left_at", "spared"), [(124, 2), (125, 0)])
def test_a_first_heartbeat_waits_for_24_seconds_by_the_exact_times_of_the_epochs(left_at, spared):
    assert epoch_deploy(left_at).seats().spared == spared


@pytest.mark.parametrize(
    ("back_at", "keep", "vacant"), [(110, 9, None), (110, 10, 20.0), (137, 60, 74.0), (138, 60, None)]
)
def test_a_seat_of_kip_848_is_kept_by_the_last_heartbeat(back_at, keep, vacant):
    past = EpochPast(epoch_member("a"), epoch_member("b")).step(100, LEFT, gone=["a"])
    found = past.step(back_at, JOINED, come=[epoch_member("new")]).seats(keep=keep)
    assert (found.spared, found.vacant_partition_seconds) == ((0, 0.0) if vacant is None else (2, vacant))


@pytest.mark.parametrize(("keep", "spared"), [(7, 0), (8, 1)])
def test_of_two_epochs_in_one_rebalance_the_order_is_not_known(keep, spared):
    past = EpochPast(epoch_member("a"), epoch_member("b"))
    found = past.step(100, JOINED, LEFT, come=[epoch_member("new")], gone=["a"], epochs=2).seats(keep=keep)
    assert (found.spared, found.generations) == (spared, 2 * spared)


def test_a_consumer_of_kip_848_that_left_and_went_on_living_spares_nothing():
    past = EpochPast(epoch_member("a"), epoch_member("b")).step(100, LEFT, gone=["a"])
    past.step(110, JOINED, come=[epoch_member("new")])
    assert past.seats(keep=20).spared == 2
    assert past.step(200, JOINED, come=[epoch_member("a")]).seats(keep=20).spared == 0


def test_share_and_streams_groups_have_no_seats():
    past = epoch_deploy()
    for kind in (GroupType.SHARE, GroupType.STREAMS):
        events = [replace(event, group_type=kind) for event in past.events]
        assert past_seats(history_of(events), rule()).spared == 0


def test_of_what_is_not_known_nothing_is_claimed():
    unknown_start = Past(member("a"), member("b")).step(100, JOINED, come=[member("new")], known=False)
    assert unknown_start.step(110, LEFT, gone=["a"]).seats().spared == 0
    killed = Past(member("a"), member("b")).step(100, JOINED, come=[member("new")])
    assert killed.step(110, FAILED, gone=["a"]).seats().spared == 0
    assert past_seats(history_of(()), rule()).first_ms is None


@pytest.mark.parametrize(
    ("past", "says"),
    [
        (
            deploy(),
            "3 rebalances since 2023-11-14 22:13:21 UTC. This rule would have avoided at least 2 of them (2 gen",
        ),
        (epoch_deploy(), "at least 2 of them (2 group epochs)"),
        (deploy(rack="r"), "It is not certain that this rule would have avoided any of them."),
    ],
)
def test_it_is_said_in_a_sentence(past, says):
    text = past_text(past.seats(), "the topic rebalance-events")
    assert text.startswith("From the topic rebalance-events: ")
    assert says in text


# -- joint admission -------------------------------------------------------------------------------------------


def scaled_up(*seconds, kind=Past, **changes):
    """Newcomers that come at these times, in seconds after `T0`, which is a multiple of 10 s."""
    past = kind(member("a"), member("b"))
    for at in seconds:
        past.step(at, JOINED, come=[member(f"new-{at}", **changes)])
    return past


def test_newcomers_that_would_have_joined_at_one_multiple_are_one_rebalance_and_wait_for_it():
    found = scaled_up(101, 104, 113).seats(admission=10, hold=0).admissions
    assert (found.merged, found.waited_seconds, found.stalled_partition_seconds) == (1, 9 + 6 + 7, 2.0)


def test_another_rebalance_in_between_is_joined_by_those_that_wait():
    past = Past(member("a"), member("b")).step(101, JOINED, come=[member("c")])
    past.step(103, FAILED, gone=["a"]).step(105, JOINED, come=[member("d")])
    assert past.seats(admission=10, hold=0).admissions.merged == 0


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ({"admission": 0}, {}),
        ({"admission": 10}, {"rebalance_timeout_ms": 10_000}),
        ({"admission": 10}, {"instance_id": "static-1"}),
    ],
)
def test_nothing_is_merged_without_a_period_or_where_a_client_does_not_wait(options, changes):
    found = scaled_up(101, 104, **changes).seats(hold=0, **options).admissions
    assert (found.merged, found.waited_seconds) == (0, 0.0)


def test_nor_in_a_group_of_kip_848_where_each_newcomer_adds_an_epoch():
    assert scaled_up(101, 104, kind=EpochPast).seats(admission=10, hold=0).admissions.merged == 0


def test_what_would_have_been_merged_is_said_with_the_wait_that_it_costs():
    text = past_text(scaled_up(101, 104).seats(admission=10, hold=0), "the topic")
    assert "gateway_admission_seconds would have merged 1 more rebalance (stalls: " in text
    assert "2.0 partition-seconds or more) into other rebalances; newcomers would have waited for at most 15 s" in text
    assert "merged no rebalances; newcomers would have waited for at most 9 s" in past_text(
        scaled_up(101).seats(admission=10, hold=0), "the topic"
    )
    assert "gateway_admission_seconds" not in past_text(deploy().seats(admission=10), "the topic")
