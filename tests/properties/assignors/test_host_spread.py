"""The spread over hosts agrees with one that is counted naively, for any subscriptions and any assignment."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.assignors import judgement
from rebalance_agent.model.subscription import GroupAssignment
from support.assignors.rules import group, member

TOPICS = ("t", "u", "v")


@st.composite
def on_hosts(draw):
    """A group on hosts, and an assignment in which each partition has an owner that subscribes to it, or none."""
    counts = {topic: draw(st.integers(1, 4)) for topic in TOPICS}
    names = [f"m{index}" for index in range(draw(st.integers(1, 6)))]
    hosts = {name: draw(st.sampled_from("xyz")) for name in names}
    subscribed = {name: draw(st.lists(st.sampled_from(TOPICS), unique=True)) for name in names}
    owned = {name: {} for name in names}
    for topic, count in counts.items():
        able = [name for name in names if topic in subscribed[name]]
        for number in range(count):
            if able and (owner := draw(st.sampled_from([*able, None]))):
                owned[owner].setdefault(topic, []).append(number)
    assigned = {name: {topic: tuple(some) for topic, some in each.items()} for name, each in owned.items()}
    subject = group(counts, *(member(name, " ".join(topics)) for name, topics in subscribed.items()))
    return subject, assigned, hosts


@given(on_hosts())
def test_the_spread_equals_a_naive_count(drawn):
    subject, owned, hosts = drawn
    judged = judgement(subject, GroupAssignment(owned, owned), None, hosts)
    found, targets = judged.host_spread, judged.targets
    topics = on_one = 0
    ratios, chances, possible = [], [], set()
    for topic in TOPICS:
        able = [each for each in subject.members if topic in each.topics]
        alike = {name for name in TOPICS if [each for each in subject.members if name in each.topics] == able}
        room = dict.fromkeys(hosts.values(), 0)
        for each in able:
            others = sum(len(some) for name, some in owned[each.member_id].items() if name not in alike)
            room[hosts[each.member_id]] += max(0, targets[each.member_id] - others)
        could = {host: part for host, part in room.items() if part}
        parts = [hosts[name] for name, some in owned.items() for _ in some.get(topic, ())]
        if len(parts) > 1 and len(could) > 1:
            topics += 1
            on_one += len(set(parts)) == 1
            possible |= set(could)
            ratios.append(min(1, len(set(parts)) / min(len(parts), len(could))))
            chances.append(sum((part / sum(could.values())) ** len(parts) for part in could.values()))
    if not topics:
        assert found is None
        return
    assert (found.topics, found.on_one_host, found.hosts) == (topics, on_one, len(possible))
    assert math.isclose(found.ratio, sum(ratios) / topics)
    assert 0 < found.chance <= 1
    if on_one == topics:
        assert math.isclose(found.chance, (sum(chances) / topics) ** topics, rel_tol=1e-9)
