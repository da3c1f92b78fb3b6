"""The promises of copartitioned-sticky, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.assignors import judge, strategy
from rebalance_agent.errors import AssignmentError
from rebalance_agent.groupprotocol.standby_user_data import decode_standby_assignment
from rebalance_agent.model.partitions import count_partitions, pairs
from rebalance_agent.model.subscription import AssignedCopies
from support.assignors.rules import member
from support.assignors.standbys import (
    CHANGELOGS,
    STANDBYS,
    STATE_FACTOR,
    awaited,
    equals,
    holders,
    loads,
    owners,
    settled,
    stateful,
    without,
)

EAGER = strategy("copartitioned-sticky")
COOPERATIVE = strategy("cooperative-copartitioned-sticky")


def test_the_same_partition_number_of_all_topics_of_one_count_goes_to_one_member():
    subject = equals({"orders": 6, "payments": 6, "audit": 4}, 3)
    assignment = EAGER.assign(subject)
    assert all(topics["orders"] == topics["payments"] for topics in assignment.members.values())
    assert set(loads(assignment.members, "orders").values()) == {2}
    assert sorted(loads(assignment.members, "audit").values()) == [1, 1, 2]
    assert judge(subject, assignment, EAGER).copartition_breaks == 0


def test_all_copartition_groups_together_are_balanced():
    subject = equals({"a": 1, "b": 2, "c": 3}, 3)
    assigned = EAGER.assign(subject).members
    assert [count_partitions(topics) for topics in assigned.values()] == [2, 2, 2]


def test_topics_of_equal_count_with_different_subscribers_are_separate_copartition_groups():
    subject = stateful({"t": 4, "u": 4}, member("a", "t u"), member("b", "t"))
    assigned = EAGER.assign(subject).members
    assert loads(assigned, "t") == {"a": 2, "b": 2}
    assert loads(assigned, "u") == {"a": 4, "b": 0}


def test_only_the_units_of_the_member_that_left_move():
    subject = equals({"orders": 12, "payments": 12}, 4)
    assignment = EAGER.assign(subject)
    left = without(settled(subject, assignment), "m1")
    after = EAGER.assign(left).members
    assert all(set(assignment.members[name]["orders"]) <= set(after[name]["orders"]) for name in ("m0", "m2", "m3"))
    assert set(loads(after, "payments").values()) == {4}


def test_a_new_topic_joins_the_units_without_moving_them():
    assignment = EAGER.assign(equals({"orders": 6}, 3))
    grown = settled(equals({"orders": 6, "payments": 6}, 3), assignment)
    after = EAGER.assign(grown).members
    assert {name: topics["orders"] for name, topics in after.items()} == {
        name: topics["orders"] for name, topics in assignment.members.items()
    }
    assert all(topics["orders"] == topics["payments"] for topics in after.values())


def test_a_split_unit_goes_to_the_member_that_owned_most_of_it():
    owned = {"m0": {"a": (0,), "b": (0,), "c": (1,)}, "m1": {"a": (1,), "b": (1,), "c": (0,)}}
    subject = stateful({"a": 2, "b": 2, "c": 2}, *(member(name, "a b c", owned=has) for name, has in owned.items()))
    assert EAGER.assign(subject).members == {
        "m0": {"a": (0,), "b": (0,), "c": (0,)},
        "m1": {"a": (1,), "b": (1,), "c": (1,)},
    }


class TestStandbys:
    def test_without_the_setting_no_member_has_copies(self):
        assert EAGER.assign(equals({"t": 4}, 3)).standbys == {"m0": {}, "m1": {}, "m2": {}}

    @pytest.mark.parametrize("copies", [1, 2])
    def test_copies_are_on_other_members_and_balanced(self, copies):
        assignment = EAGER.assign(equals({"t": 12, "u": 12}, 4, standbys=copies))
        where, active = holders(assignment), owners(assignment.target)
        assert where.keys() == active.keys()
        assert all(len(members) == copies and active[pair] not in members for pair, members in where.items())
        assert set(loads(assignment.standbys, "t").values()) == {3 * copies}
        assert all(topics["t"] == topics["u"] for topics in assignment.standbys.values())

    def test_there_are_no_more_copies_than_other_members(self):
        assignment = EAGER.assign(equals({"t": 2}, 2, standbys=5))
        assert assignment.standbys == {"m0": {"t": (1,)}, "m1": {"t": (0,)}}
        assert EAGER.assign(equals({"t": 2}, 1, standbys=5)).standbys == {"m0": {}}

    def test_copies_of_a_members_units_are_on_many_members(self):
        assignment = EAGER.assign(equals({"t": 12}, 4, standbys=1))
        where = holders(assignment)
        for topics in assignment.target.values():
            assert len(set().union(*(where["t", number] for number in topics["t"]))) == 3

    @pytest.mark.parametrize("form", [EAGER, COOPERATIVE])
    def test_a_member_with_a_copy_takes_over_from_an_active_member_that_left(self, form):
        subject = equals({"t": 12, "u": 12}, 4, standbys=1)
        before = EAGER.assign(subject)
        after = form.assign(without(settled(subject, before), "m2")).target
        where, active = holders(before), owners(after)
        assert all({active["t", number]} == where["t", number] for number in before.target["m2"]["t"])

    def test_a_newcomer_gets_units_of_which_it_has_copies(self):
        subject = equals({"t": 6}, 2)
        ready = settled(subject, EAGER.assign(subject))
        warm = member("new", "t", standbys={"t": (1, 4)})
        assert EAGER.assign(replace(ready, members=(*ready.members, warm))).target["new"] == {"t": (1, 4)}

    def test_a_member_that_loses_a_unit_is_preferred_for_a_copy_of_it(self):
        subject = equals({"t": 4}, 2, standbys=1)
        ready = settled(subject, EAGER.assign(subject))
        joined = replace(ready, members=(*ready.members, member("m2", "t")))
        warm = settled(joined, EAGER.assign(joined))
        after = EAGER.assign(warm)
        (moved,) = after.target["m2"]["t"]
        before = owners({each.member_id: each.owned for each in ready.members})
        former = {each.member_id: set(each.standbys["t"]) for each in ready.members}
        (holder,) = holders(after)["t", moved]
        assert holder == before["t", moved] or moved in former[holder]

    def test_only_configured_changelogs_are_copied(self):
        assignment = EAGER.assign(equals({"orders": 3, "table": 3, "other": 2}, 3, standbys=1, changelogs="table"))
        assert {topic for topics in assignment.standbys.values() for topic in topics} == {"table"}

    def test_a_changelog_without_subscribers_is_copied_with_its_topic(self):
        subject = stateful(
            {"orders": 3, "store": 3},
            *(member(f"m{n}", "orders") for n in range(3)),
            standbys=1,
            changelogs="orders=store",
        )
        assignment = EAGER.assign(subject)
        assert holders(assignment).keys() == {("store", number) for number in range(3)}
        after = EAGER.assign(without(settled(subject, assignment), "m0")).target
        (orphan,) = assignment.target["m0"]["orders"]
        assert {owners(after)["orders", orphan]} == holders(assignment)["store", orphan]

    def test_a_topic_with_other_subscribers_is_no_changelog_of_another_copartition_group(self):
        subject = stateful({"t": 2, "u": 3}, member("a", "t u"), member("b", "t u"), standbys=1, changelogs="t=u")
        assert EAGER.assign(subject).standbys == {"a": {}, "b": {}}


def lopsided(**config):
    """m0 has all copies of the four units of a member that has left; each member owns four others."""
    return stateful(
        {"t": 12},
        member("m0", "t", owned={"t": (0, 1, 2, 3)}, generation=1, standbys={"t": (8, 9, 10, 11)}),
        member("m1", "t", owned={"t": (4, 5, 6, 7)}, generation=1),
        standbys=1,
        **config,
    )


class TestStateBeforeBalance:
    def test_a_unit_goes_to_its_standby_regardless_of_balance(self):
        assert EAGER.assign(lopsided()).target["m0"] == {"t": (0, 1, 2, 3, 8, 9, 10, 11)}

    def test_the_least_loaded_standby_takes_over(self):
        subject = lopsided()
        m0, m1 = subject.members
        both = replace(subject, members=(m0, replace(m1, standbys=m0.standbys)))
        assert loads(EAGER.assign(both).target, "t") == {"m0": 6, "m1": 6}

    def test_the_next_owner_of_a_unit_builds_a_copy_before_it_gets_the_unit(self):
        first = EAGER.assign(lopsided())
        waiting = set(first.standbys["m1"]["t"]) - {0, 1, 2, 3}
        assert len(waiting) == 4
        second = EAGER.assign(settled(lopsided(), first))
        assert loads(second.target, "t") == {"m0": 6, "m1": 6}
        assert set(second.target["m1"]["t"]) - {4, 5, 6, 7} <= set(first.standbys["m1"]["t"])

    def test_no_unit_moves_before_its_copy_is_complete(self):
        first = EAGER.assign(lopsided())
        slow = settled(lopsided(), first)
        slow = replace(slow, members=tuple(replace(each, standbys={}) for each in slow.members))
        again = EAGER.assign(slow)
        assert (again.target, again.standbys["m1"]) == (first.target, first.standbys["m1"])

    @pytest.mark.parametrize("form", [EAGER, COOPERATIVE])
    def test_a_newcomer_builds_copies_beside_the_standbys_and_then_gets_their_units(self, form):
        subject = equals({"t": 6}, 2, standbys=1)
        ready = settled(subject, EAGER.assign(subject))
        joined = replace(ready, members=(*ready.members, member("m2", "t")))
        first = form.assign(joined)
        assert first.target["m2"] == {}
        assert first.target == {**{each.member_id: each.owned for each in ready.members}, "m2": {}}
        waited_for = {pair for pair, members in holders(first).items() if len(members) == 2}
        assert len(waited_for) == 2
        assert all("m2" in holders(first)[pair] for pair in waited_for)
        assert {name: pairs(awaited(first, name)) for name in first.members} == {
            "m0": set(),
            "m1": set(),
            "m2": waited_for,
        }
        second = form.assign(settled(joined, first)).target
        assert set(loads(second, "t").values()) == {2}
        assert pairs(second["m2"]) <= pairs(first.standbys["m2"])

    def test_under_the_cooperative_protocol_a_new_owner_keeps_its_copies_until_the_follow_up(self):
        subject = equals({"t": 6}, 2, standbys=1)
        ready = settled(subject, EAGER.assign(subject))
        joined = replace(ready, members=(*ready.members, member("new", "t", standbys={"t": (1, 4)})))
        first = COOPERATIVE.assign(joined)
        assert (first.target["new"], first.members["new"]) == ({"t": (1, 4)}, {})
        assert {1, 4} <= set(first.standbys["new"]["t"])
        assert awaited(first, "new") == {}, "the follow-up happens without a request"
        second = COOPERATIVE.assign(settled(joined, replace(first, target=first.members)))
        assert second.members["new"] == {"t": (1, 4)}
        assert {1, 4}.isdisjoint(second.standbys["new"]["t"])

    @pytest.mark.parametrize(("members", "copies", "missing"), [(1, 1, 6), (2, 1, 0), (2, 3, 12), (4, 3, 0)])
    def test_copies_without_a_member_are_counted(self, members, copies, missing):
        subject = equals({"t": 6, "u": 6}, members, standbys=copies)
        assignment = EAGER.assign(subject)
        assert assignment.missing_standbys == judge(subject, assignment, EAGER).missing_standbys == missing

    def test_without_configured_standbys_none_is_missing(self):
        subject = equals({"t": 6}, 1)
        assert EAGER.assign(subject).missing_standbys == 0
        assert strategy("sticky").assign(subject).missing_standbys is None

    def test_with_a_factor_of_one_balance_has_priority(self):
        first = EAGER.assign(lopsided(state_factor=1))
        assert loads(first.target, "t") == {"m0": 6, "m1": 6}
        assert all(len(members) == 1 for members in holders(first).values())

    def test_without_standbys_balance_has_priority(self):
        no_copies = replace(lopsided(), config={STANDBYS: "0"})
        assert loads(EAGER.assign(no_copies).target, "t") == {"m0": 6, "m1": 6}

    def test_the_factor_limits_the_units_that_a_standby_takes_over(self):
        first = EAGER.assign(lopsided(state_factor="1.2"))
        assert loads(first.target, "t") == {"m0": 8, "m1": 4}  # 1.2 times 6, rounded up
        assert loads(EAGER.assign(lopsided(state_factor="1.1")).target, "t") == {"m0": 7, "m1": 5}

    def test_topics_without_copies_do_not_wait(self):
        subject = equals({"orders": 4, "table": 6}, 2, standbys=1, changelogs="table")
        ready = settled(subject, EAGER.assign(subject))
        after = EAGER.assign(replace(ready, members=(*ready.members, member("m2", "orders table"))))
        assert "orders" in after.target["m2"]
        assert "table" not in after.target["m2"]

    def test_skew_is_reported_until_the_copies_are_complete(self):
        quality = judge(lopsided(), EAGER.assign(lopsided()), EAGER)
        assert (quality.skew_ratio, quality.imbalance) == (8 / 6, 2)


class TestUserData:
    def test_owned_and_copied_partitions_are_read_from_user_data(self):
        config = {STANDBYS: "1"}
        said = {
            "a": EAGER.user_data(config, {"t": (0, 1)}, 4, {"t": (2,)}),
            "b": EAGER.user_data(config, {"t": (3, 4)}, 4, {"t": (5,)}),
        }
        subject = stateful({"t": 6}, *(member(name, "t", user_data=data) for name, data in said.items()))
        assert EAGER.assign(subject).target == {"a": {"t": (0, 1, 2)}, "b": {"t": (3, 4, 5)}}
        # The cooperative protocol ignores owned partitions in user data, but reads copies.
        free = COOPERATIVE.assign(subject).target
        assert 2 in free["a"]["t"]
        assert 5 in free["b"]["t"]

    def test_the_assignment_contains_active_and_standby_partitions(self):
        assignment = EAGER.assign(equals({"t": 4, "u": 4}, 2, standbys=1))
        for name, data in assignment.user_data.items():
            active, copies = decode_standby_assignment(data)
            assert active == assignment.members[name]
            assert copies == EAGER.copies_in(data) == AssignedCopies(assignment.standbys[name])

    @pytest.mark.parametrize("data", [b"\0", b"nonsense", b"\0\1\xff\xff", b"\xff" * 40])
    def test_unreadable_user_data_affects_only_that_member(self, data):
        subject = equals({"t": 4}, 2, standbys=1)
        odd = replace(subject, members=(replace(subject.members[0], user_data=data), subject.members[1]))
        assignment = EAGER.assign(odd)
        assert assignment.target == EAGER.assign(subject).target
        assert assignment.user_data_errors.keys() == {"m0"}

    def test_copies_of_nonexistent_partitions_are_ignored(self):
        subject = equals({"t": 4}, 2, standbys=1)
        claims = {"gone": (0,), "t": (-1, 4, 2**31 - 1)}
        odd = replace(subject, members=(replace(subject.members[0], standbys=claims), subject.members[1]))
        assert EAGER.assign(odd) == EAGER.assign(subject)

    def test_copies_of_a_member_that_does_not_subscribe_are_ignored(self):
        idle = member("idle", "", standbys={"t": (0, 1)})
        subject = stateful({"t": 2}, member("a", "t"), member("b", "t"), idle, standbys=1)
        assignment = EAGER.assign(subject)
        assert assignment.target["idle"] == assignment.standbys["idle"] == {}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (STANDBYS, "-1", "must be a whole number from 0 to 100, not '-1'"),
        (STANDBYS, "101", "must be a whole number from 0 to 100"),
        (STATE_FACTOR, "0.9", "must be a number from 1 to 1e+06, not '0.9'"),
        (CHANGELOGS, "a b", "'a b' is not a topic name"),
        (CHANGELOGS, "a,,b", "'' is not a topic name"),
        (CHANGELOGS, "a,b=a", "a appears twice"),
        (CHANGELOGS, "=x", "'' is not a topic name"),
        (CHANGELOGS, "x" * 250, "is not a topic name"),
        (CHANGELOGS, "x," * 20_000, "must be topics separated by commas"),
    ],
)
def test_a_wrong_setting_of_the_leader_is_refused(name, text, problem):
    with pytest.raises(AssignmentError, match=f"^{name}: ") as caught:
        EAGER.assign(replace(equals({"t": 2}, 2), config={name: text}))
    assert problem in str(caught.value)


def test_spaces_around_names_of_changelogs_are_ignored():
    assignment = EAGER.assign(equals({"t": 2, "u": 2}, 2, standbys=1, changelogs=" t , t = s "))
    assert holders(assignment).keys() == {("t", 0), ("t", 1), ("s", 0), ("s", 1)}


def test_skew_is_relative_to_a_rounded_up_share_of_every_copartition_group():
    subject = equals({"a": 3, "b": 3, "c": 2}, 2)
    assignment = EAGER.assign(subject)
    quality = judge(subject, assignment, EAGER)
    assert (quality.skew_ratio, quality.imbalance) == (1.0, 0)
    assert EAGER.targets(subject) == {"m0": 5, "m1": 5}
    piled = replace(assignment, target={"m0": {"a": (0, 1, 2), "b": (0, 1, 2), "c": (0, 1)}, "m1": {}})
    assert judge(subject, piled, EAGER).skew_ratio == 8 / 5


def test_targets_follow_each_members_copartition_groups():
    subject = stateful({"t": 4, "u": 3}, member("a", "t u"), member("b", "t"))
    assert EAGER.targets(subject) == {"a": 5, "b": 2}
