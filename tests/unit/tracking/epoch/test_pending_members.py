"""The members that a running rebalance of a group whose coordinator assigns waits for."""

from __future__ import annotations

import pytest

from rebalance_agent.model.epoch_groups import GroupEpoch, MemberState, TargetEpoch
from rebalance_agent.tracking.epoch.pending_members import COMPARED_MAX
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import current, fact, joins, named, target
from support.tracker.tracking import WHOLE, feed

FIRST = [
    joins(1_000, "a"),
    fact(1_000, GroupEpoch(2)),
    target(1_000, "a", 0, 1, 2, 3),
    fact(1_000, TargetEpoch(2)),
    current(1_000, "a", 2, (0, 1, 2, 3)),
]
JOIN = [joins(10_000, "b"), fact(10_000, GroupEpoch(3))]
TARGETS = [
    target(10_050, "a", 0, 1),
    target(10_050, "b", 2, 3),
    fact(10_050, TargetEpoch(3)),
    current(10_050, "b", 3, state=MemberState.UNRELEASED),
]
ASKED = [current(11_000, "a", 2, (0, 1), (2, 3), MemberState.UNREVOKED)]
REVOKED = [current(11_600, "a", 3, (0, 1))]
TAKEN = [current(12_000, "b", 3, (2, 3))]


def running(*observations):
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, WHOLE, named(), *FIRST, *observations)
    return tracker.view("g").running


def shown(*observations):
    pending = running(*observations).pending
    return pending.members, [(each.member_id, each.client_id, each.partitions) for each in pending.named]


def test_without_a_target_assignment_no_member_is_pending():
    assert running(*JOIN).pending is None


@pytest.mark.parametrize("asked", [[], ASKED], ids=["before its heartbeat", "asked to revoke"])
def test_a_member_is_awaited_until_it_has_revoked(asked):
    assert shown(*JOIN, *TARGETS, *asked) == (1, [("a", "client-a", 2)])


def test_then_the_new_owner_is_awaited_until_it_has_its_partitions():
    assert shown(*JOIN, *TARGETS, *ASKED, *REVOKED) == (1, [("b", "client-b", 0)])
    assert running(*JOIN, *TARGETS, *ASKED, *REVOKED, *TAKEN) is None


def test_a_static_member_that_is_away_is_not_awaited():
    gone = [current(10_500, "a", -2, (0, 1))]
    assert "a" not in [name for name, *_ in shown(*JOIN, *TARGETS, *gone)[1]]


@pytest.mark.parametrize("members", [COMPARED_MAX, COMPARED_MAX + 1])
def test_in_a_large_group_only_revocations_that_were_requested_count(members):
    """At first all members are behind: comparing each one's partitions would cost too much for each record."""
    names = [f"m{number:03}" for number in range(members)]
    many = [
        *(joins(20_000, name) for name in names),
        fact(20_000, GroupEpoch(4)),
        *(target(20_000, name, number) for number, name in enumerate(names)),
        target(20_000, "a"),
        target(20_000, "b"),
        fact(20_000, TargetEpoch(4)),
        *(current(20_000, name, 4, (number,)) for number, name in enumerate(names)),
        current(20_000, "a", 4),
        current(20_000, "b", 4),
        fact(30_000, GroupEpoch(5)),
        *(target(30_000, name) for name in names),
        fact(30_000, TargetEpoch(5)),
        current(31_000, "a", 5),
        current(31_000, "b", 5),
    ]
    began = [*JOIN, *TARGETS, *ASKED, *REVOKED, *TAKEN, *many]
    count, first = shown(*began)
    assert (count, len(first)) == (members, 10)
    assert {partitions for *_, partitions in first} == ({1} if members <= COMPARED_MAX else {0})
    asked = current(32_000, names[-1], 4, (), (members - 1,), MemberState.UNREVOKED)
    assert shown(*began, asked)[1][0][2] == 1
