"""``shuffled-roundrobin``: its order, few moves, and topics on several hosts."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from rebalance_agent.assignors import judge, strategy
from rebalance_agent.assignors.strategies.hosts import host_of, interleaved
from rebalance_agent.model.subscription import TopicMetadata
from support.assignors.fleets import fleet, hosts_by_topic, owning
from support.assignors.rules import group, member

SHUFFLED = strategy("shuffled-roundrobin")
ID = "-01234567-89ab-4cde-8f01-23456789ab"


def assigned(subject):
    return SHUFFLED.assign(subject).members


def hosted(topics, owned):
    """A group with members named host + number; ``owned``: (host, number) -> topic -> partitions."""
    return group(
        topics,
        *(
            member(f"{host}{ID}{number:02}", " ".join(topics), owned=given, generation=1)
            for (host, number), given in owned.items()
        ),
    )


@pytest.mark.parametrize("seed", range(20))
def test_one_topic_of_81_moves_at_most_three_of_240_partitions(seed):
    rnd = random.Random(seed)
    names = [f"orders-{rnd.randbytes(4).hex()}" for _ in range(81)]
    smaller, larger = (fleet(random.Random(seed), 4, 3, dict.fromkeys(topics, 3)) for topics in (names[:-1], names))
    first = assigned(smaller)
    grown = owning(larger, first)
    result = SHUFFLED.assign(grown)
    assert judge(grown, result, SHUFFLED).moved <= 3
    rest = {
        member_id: {name: given for name, given in topics.items() if name != names[0]}
        for member_id, topics in result.members.items()
    }
    shrunk = owning(fleet(random.Random(seed), 4, 3, dict.fromkeys(names[1:], 3)), rest)
    after = SHUFFLED.assign(shrunk)
    assert judge(shrunk, after, SHUFFLED).moved <= 3
    assert all(len(hosts) == 3 for hosts in hosts_by_topic(first).values())
    for each in (result.members, after.members):
        assert all(len(hosts) > 1 for hosts in hosts_by_topic(each).values())


def test_topics_on_one_host_are_spread_with_one_move_for_each():
    subject = fleet(random.Random(1), 4, 3, {f"t{number:02}": 3 for number in range(80)})
    clustered = owning(subject, strategy("roundrobin").assign(subject).members)
    assert all(len(hosts) == 1 for hosts in hosts_by_topic({m.member_id: m.owned for m in clustered.members}).values())
    result = SHUFFLED.assign(clustered)
    assert all(len(hosts) > 1 for hosts in hosts_by_topic(result.members).values())
    quality = judge(clustered, result, SHUFFLED)
    assert (quality.moved, quality.spread) == (80, 0)


def test_a_partition_moves_to_an_idle_host_without_exchange():
    subject = hosted({"t": 2}, {("a", 1): {"t": (0,)}, ("a", 2): {"t": (1,)}, ("b", 1): {}})
    assert hosts_by_topic(assigned(subject)) == {"t": {"a", "b"}}
    assert judge(subject, SHUFFLED.assign(subject), SHUFFLED).moved == 1


def test_an_exchange_does_not_put_another_topic_on_one_host():
    subject = hosted(
        {"t": 2, "u": 2, "v": 1, "w": 1},
        {("a", 1): {"t": (0, 1), "u": (0,)}, ("b", 1): {"u": (1,), "v": (0,), "w": (0,)}},
    )
    result = assigned(subject)
    assert hosts_by_topic(result)["t"] == hosts_by_topic(result)["u"] == {"a", "b"}
    assert judge(subject, SHUFFLED.assign(subject), SHUFFLED).moved == 2


def test_a_topic_that_fits_only_one_host_stays():
    both = member(f"b{ID}01", "u", owned={"u": (0,)}, generation=1)
    alone = member(f"a{ID}01", "t", owned={"t": (0, 1)}, generation=1)
    assert assigned(group({"t": 2, "u": 1}, alone, both)) == {alone.member_id: alone.owned, both.member_id: both.owned}
    stuck = hosted({"t": 2, "u": 2}, {("a", 1): {"t": (0,), "u": (0,)}, ("a", 2): {"t": (1,)}, ("b", 1): {"u": (1,)}})
    assert judge(stuck, SHUFFLED.assign(stuck), SHUFFLED).spread == 1


def test_partitions_of_a_host_that_left_go_to_several_hosts():
    subject = fleet(random.Random(2), 3, 3, {f"t{number:02}": 4 for number in range(30)})
    subject = owning(subject, assigned(subject))
    left = replace(subject, members=tuple(each for each in subject.members if host_of(each) != "application02"))
    result = SHUFFLED.assign(left)
    assert all(len(hosts) == 2 for hosts in hosts_by_topic(result.members).values())
    assert judge(left, result, SHUFFLED).moved == 0


def test_the_host_is_the_client_id_of_the_member_id():
    assert host_of(member(f"application01{ID}00", "t")) == "application01"
    assert host_of(member("reader-1", "t")) == "reader-1"
    assert host_of(member(f"static{ID}00", "t", instance_id="i-1")) == "i-1"


def test_members_of_one_host_are_far_apart_in_the_order():
    keys = [bytes([number * 37 % 251]) for number in range(12)]
    order = interleaved(["a", "b", "c", "d"] * 3, keys)
    circle = ["abcd"[member % 4] for member in (*order, *order)]
    assert all(len(set(circle[start : start + 4])) == 4 for start in range(12))
    assert interleaved(list("abcdefghijkl"), keys) == sorted(range(12), key=keys.__getitem__)


def test_the_first_member_differs_between_groups():
    first = set()
    for number in range(30):
        subject = group({f"topic-of-{number}": 1}, *(member(f"m{n}", f"topic-of-{number}") for n in range(5)))
        first |= {name for name, topics in assigned(subject).items() if topics}
    assert first == {f"m{n}" for n in range(5)}


def test_the_order_is_the_same_on_every_machine_and_python():
    subject = group({"t": 4}, *(member(f"m{n}", "t") for n in range(4)))
    assert assigned(subject) == {"m0": {"t": (1,)}, "m1": {"t": (3,)}, "m2": {"t": (2,)}, "m3": {"t": (0,)}}


def test_static_members_keep_their_position_after_a_restart():
    before = group({"t": 9}, *(member(f"old-{n}", "t", instance_id=f"i{n}") for n in range(9)))
    after = group({"t": 9}, *(member(f"new-{n}", "t", instance_id=f"i{n}") for n in range(9)))
    assert list(assigned(before).values()) == list(assigned(after).values())


def test_partitions_with_several_claims_and_unequal_subscriptions_are_assigned():
    topics = {"t": TopicMetadata(3), "u": TopicMetadata(4)}
    members = (
        member("a", "t", owned={"t": (0, 1)}, generation=3),
        member("b", "t u", owned={"t": (1, 2)}, generation=3),
        member("c", "u"),
    )
    result = assigned(group(topics, *members))
    assert result["a"]["t"][0] == 0
    assert sorted(sum(map(len, given.values())) for given in result.values()) == [2, 2, 3]
