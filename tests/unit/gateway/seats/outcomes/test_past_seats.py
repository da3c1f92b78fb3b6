"""What seats would have spared in a recorded past: only rebalances of deploys, and never more than is certain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.advice import history_of
from rebalance_agent.gateway.explain_rules import past_text
from rebalance_agent.gateway.past_seats import past_seats
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

    def __init__(self, *members):
        self.members, self.events = {each.member_id: each for each in members}, []
        self._write(0, (Trigger.GROUP_STARTED,), known=True)

    def step(self, at, *causes, come=(), gone=(), known=True):
        self.members = {name: each for name, each in self.members.items() if name not in gone}
        self.members |= {each.member_id: each for each in come}
        self._write(at, causes, known=known)
        return self

    def _write(self, at, causes, *, known):
        number, ended_ms = len(self.events) + 1, T0 + at * 1_000 + 1_000
        self.events.append(
            GenerationEvent(
                event_id=f"e{number}", cluster_id="c", group="g", timestamp_ms=ended_ms, source=Source.RECORDS,
                group_type=GroupType.CLASSIC, generation=number, previous_generation=number - 1 or None,
                episode_generation=number, closes_episode=True, followups=0, assignor="range",
                protocol=RebalanceProtocol.EAGER,
                phases=Phases(started_ms=ended_ms - 1_000 if known else None, joined_ms=None, completed_ms=ended_ms,
                              completed_evidence=Evidence.RECORD),
                trigger=causes[0], causes=tuple(causes), stall=STALL, members=tuple(self.members.values()),
                topics={"t": 4}, moved=None, needed=None, revoked=None, assigned=4, lost=None, unassigned=0, noop=False,
            )
        )  # fmt: skip

    def seats(self, **settings):
        return past_seats(history_of(self.events), rule(**settings))


def deploy(**changes):
    """One of two members is replaced: the new one comes at 100 s, the old one leaves at 110 s."""
    new = member("new", **changes)
    return Past(member("a"), member("b")).step(100, JOINED, come=[new]).step(110, LEFT, gone=["a"])


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


def test_of_what_is_not_known_nothing_is_claimed():
    unknown_start = Past(member("a"), member("b")).step(100, JOINED, come=[member("new")], known=False)
    assert unknown_start.step(110, LEFT, gone=["a"]).seats().spared == 0
    killed = Past(member("a"), member("b")).step(100, JOINED, come=[member("new")])
    assert killed.step(110, FAILED, gone=["a"]).seats().spared == 0
    assert past_seats(history_of(()), rule()).first_ms is None


@pytest.mark.parametrize(
    ("past", "says"),
    [
        (deploy(), "3 rebalances since 2023-11-14 22:13:21 UTC. This rule would have spared at least 2 of them"),
        (deploy(rack="r"), "It is not certain that this rule would have spared any."),
    ],
)
def test_it_is_said_in_a_sentence(past, says):
    text = past_text(past.seats(), "the topic rebalance-events")
    assert text.startswith("From the topic rebalance-events: ")
    assert says in text
