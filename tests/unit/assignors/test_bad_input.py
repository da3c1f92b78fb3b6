"""Wrong data of members and metadata: ``assign()`` has a defined result and raises nothing."""

from __future__ import annotations

import struct
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.assignors import STRATEGIES, judge
from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.consumer_protocol import decode_subscription, encode_subscription
from rebalance_agent.model.partitions import pairs
from rebalance_agent.model.subscription import ConsumerSubscription, GroupSubscription, MemberSubscription
from support.assignors.rules import PRIORITY, group, member

EVERY = pytest.mark.parametrize("name", sorted(STRATEGIES))
EVERY_PLAN = pytest.mark.parametrize(
    "name", sorted({each.plan: name for name, each in sorted(STRATEGIES.items(), reverse=True)}.values())
)
"""One strategy of each plan, in its cooperative form if it has one, because that also withholds partitions."""

READING = pytest.mark.parametrize("name", sorted(name for name, each in STRATEGIES.items() if each.reader))
FAR = 2**31 - 1


def assigned(name, subject):
    """The assignment, after checks for any input: every member has an entry, all partitions exist and have owners."""
    strategy = STRATEGIES[name]
    result = strategy.assign(subject)
    judge(subject, result, strategy)
    subscribed: dict[str, set[str]] = {}
    for each in subject.members:
        subscribed.setdefault(each.member_id, set()).update(each.topics)
    existing = {
        (topic, number)
        for topic in {topic for topics in subscribed.values() for topic in topics} & subject.topics.keys()
        for number in range(subject.topics[topic].partitions)
    }
    assert result.members.keys() == result.target.keys() == subscribed.keys()
    for member_id, topics in result.target.items():
        assert topics.keys() <= subscribed[member_id]
        assert pairs(result.members[member_id]) <= pairs(topics)
        assert all(list(numbers) == sorted(set(numbers)) for numbers in topics.values())
    assert {pair for topics in result.target.values() for pair in pairs(topics)} == existing
    return result


def pair_of_members(other=None, **fields):
    return group({"t": 5, "u": 2}, member("a", "t u", **fields), member("b", "t u", config=other or {}))


def rejects(strategy, data):
    try:
        strategy.reader(data)
    except DecodeError:
        return True
    return False


def check_user_data(name, data):
    """User data that the strategy cannot read is reported, by member, and counts as none."""
    strategy = STRATEGIES[name]
    known = {PRIORITY: "5"}  # so that it is not reported as missing under failover
    result = assigned(name, pair_of_members(known, user_data=data))
    unreadable = bool(data) and rejects(strategy, data)
    assert list(result.user_data_errors) == (["a"] if unreadable else [])
    if unreadable:
        assert result.target == assigned(name, pair_of_members(known)).target
        assert "\n" not in result.user_data_errors["a"]


class TestUserData:
    @pytest.mark.no_cover  # many examples that execute the same lines as other tests
    @READING
    @given(data=st.binary(max_size=64))
    @settings(max_examples=60)
    def test_random_bytes_as_user_data_are_reported(self, name, data):
        check_user_data(name, data)

    @READING
    def test_user_data_that_is_cut_off_or_too_long_is_reported(self, name):
        strategy = STRATEGIES[name]
        whole = strategy.user_data({}, {"t": (0, 3), "u": (1,)}, 7) or b""
        for end in range(len(whole)):
            check_user_data(name, whole[:end])
        check_user_data(name, whole + b"\0")

    @pytest.mark.no_cover
    @READING
    @given(data=st.data())
    @settings(max_examples=60)
    def test_user_data_with_a_huge_or_negative_number_is_reported(self, name, data):
        whole = STRATEGIES[name].user_data({}, {"t": (0, 3), "u": (1,)}, 7) or b""
        at = data.draw(st.integers(0, len(whole)))
        word = data.draw(st.sampled_from([b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff"]))
        check_user_data(name, whole[:at] + word + whole[at + len(word) :])

    @READING
    def test_invalid_user_data_affects_only_that_member(self, name):
        strategy = STRATEGIES[name]
        good = strategy.user_data({}, {"t": (0, 1)}, 3)
        subject = group({"t": 4}, *(member(f"m{n}", "t", user_data=good) for n in range(2)))
        broken = member("broken", "t", user_data=b"\xff" * 11)
        result = assigned(name, replace(subject, members=(*subject.members, broken)))
        assert set(result.user_data_errors) == ({"broken"} if rejects(strategy, broken.user_data) else set())

    def test_some_bytes_are_refused_by_every_reader(self):
        assert all(rejects(each, b"\xff" * 11) for each in STRATEGIES.values() if each.reader)


class TestSubscriptions:
    @EVERY
    @pytest.mark.parametrize("version", [4, 99, 32_767])
    def test_an_unknown_version_is_read_as_the_newest_known_one(self, name, version):
        reported = ConsumerSubscription(3, ("t", "u"), None, {"t": (0,)}, 7, "r1")
        read = decode_subscription(struct.pack(">h", version) + encode_subscription(reported)[2:] + b"of the future")
        members = tuple(
            MemberSubscription(
                member_id, read.topics, owned=read.owned_partitions, generation=read.generation_id, rack=read.rack_id
            )
            for member_id in ("a", "b")
        )
        assert members[0].owned == {"t": (0,)}
        assigned(name, replace(pair_of_members(), members=members))

    @EVERY
    def test_topics_that_a_member_lists_twice_count_once(self, name):
        twice = group({"t": 5, "u": 2}, member("a", "t t u t"), member("b", "u t u"))
        assert assigned(name, twice).target == assigned(name, pair_of_members()).target

    @EVERY
    def test_unknown_topics_and_topics_without_partitions_are_ignored(self, name):
        subject = group({"t": 3, "empty": 0}, member("a", "t empty gone"), member("b", "gone"))
        result = assigned(name, subject)
        assert result.unknown_topics == ("empty", "gone")
        assert set(result.target["a"]) == {"t"}
        assert result.target["b"] == {}

    @EVERY
    def test_without_members_or_topics_the_assignment_is_empty(self, name):
        assert assigned(name, GroupSubscription({}, ())).members == {}
        assert assigned(name, group({"t": 3})).members == {}
        assert assigned(name, group({}, member("a", ""), member("b", "t"))).members == {"a": {}, "b": {}}

    @EVERY
    @pytest.mark.parametrize("odd", ["with\nline", "\ud800", "\udfff\U0001f600", "", " ", "\0", "x" * 40_000])
    def test_names_that_no_broker_allows_are_assigned(self, name, odd):
        subject = GroupSubscription(
            group({odd: 3, "t": 2}).topics,
            (
                MemberSubscription(odd, (odd, "t"), odd, {odd: (0, 1)}, 1, odd),
                MemberSubscription("b", ("t", odd, odd + "?"), rack="r"),
            ),
        )
        assert assigned(name, subject).unknown_topics == (odd + "?",)


class TestOwnership:
    @EVERY
    @pytest.mark.parametrize("generation", [-1, 0, FAR, -(2**31), 2**70])
    def test_nonexistent_and_duplicate_owned_partitions_are_ignored(self, name, generation):
        for numbers in ((-1,), (5,), (FAR,), (2**63,), (-(2**31), 0, FAR), (0, 0, 0), (4, 0)):
            owned = {"t": numbers, "gone": numbers, "empty": ()}
            subject = pair_of_members(owned=owned, generation=generation, standbys=owned)
            known = {"t": tuple(sorted({number for number in numbers if 0 <= number < 5}))}
            plain = pair_of_members(owned=known, generation=generation, standbys=known)
            assert assigned(name, subject).target == assigned(name, plain).target, numbers

    @READING
    @pytest.mark.parametrize("numbers", [(-1,), (5,), (FAR,), (-(2**31), 0, FAR), (0, 0, 0)])
    def test_nonexistent_and_duplicate_partitions_in_user_data_are_ignored(self, name, numbers):
        data = STRATEGIES[name].user_data({}, {"t": numbers, "gone": numbers}, 7)
        assigned(name, pair_of_members(user_data=data))

    @EVERY
    def test_partitions_claimed_by_all_members_have_no_owner(self, name):
        owned = {"t": tuple(range(5)), "u": (0, 1)}
        claiming = (member(each, "t u", owned=owned, generation=3) for each in "abc")
        silent = (member(each, "t u", generation=3) for each in "abc")
        subjects = [group({"t": 5, "u": 2}, *members) for members in (claiming, silent)]
        assert assigned(name, subjects[0]).target == assigned(name, subjects[1]).target

    @EVERY
    def test_duplicate_member_ids_are_accepted(self, name):
        old = member("a", "t", owned={"t": (0, 1)}, generation=1, instance_id="i")
        new = member("a", "t u", owned={"t": (2,)}, generation=2)
        results = [
            assigned(name, group({"t": 5, "u": 2}, *members))
            for members in ((old, new, member("b", "t u")), (new, member("b", "t u"), old, old))
        ]
        assert results[0] == results[1]
        assert results[0].duplicate_ids == ("a",)


@pytest.mark.no_cover  # the same lines as above, many times: coverage takes longer than the test
class TestSize:
    """A few seconds, less than a linear search in all topics for each topic takes."""

    TOPICS = tuple(f"topic-{number:06}" for number in range(40_000))
    CPU_SECONDS_MAX = 8

    def check_all_are_assigned_soon(self, name, *members):
        subject = group(dict.fromkeys(self.TOPICS, 1), *members)
        start = time.process_time()
        result = STRATEGIES[name].assign(subject)
        assert time.process_time() - start < self.CPU_SECONDS_MAX
        assert sum(map(len, result.target.values())) >= len(self.TOPICS)

    @EVERY_PLAN
    def test_tens_of_thousands_of_topics_are_assigned_in_seconds(self, name):
        members = (MemberSubscription(member_id, self.TOPICS) for member_id in "abc")
        self.check_all_are_assigned_soon(name, *members)

    @EVERY_PLAN
    def test_as_many_owned_topics_with_mixed_subscriptions_are_assigned_in_seconds(self, name):
        fifth = len(self.TOPICS) // 5
        members = (
            MemberSubscription(
                f"m{place}",
                self.TOPICS[place * fifth :],
                owned=dict.fromkeys(self.TOPICS[2 * fifth + place :: 3], (0,)),
                generation=1,
            )
            for place in range(3)
        )
        self.check_all_are_assigned_soon(name, *members)

    @EVERY_PLAN
    def test_claims_of_partitions_that_do_not_exist_are_ignored(self, name):
        many = pair_of_members(owned={"t": range(1_000_000), "gone": range(1_000_000)}, generation=1)
        plain = pair_of_members(owned={"t": tuple(range(5))}, generation=1)
        assert assigned(name, many).target == assigned(name, plain).target
