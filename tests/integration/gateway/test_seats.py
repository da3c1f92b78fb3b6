"""Seats in groups of unmodified consumers behind one gateway, before a real broker."""

from __future__ import annotations

import itertools

import pytest

from support.gateway.gateway_members import AiokafkaMember, KafkaPythonMember, joining, read_everything, shares
from support.gateway.running import gateway
from support.members.member_lines import LibrdkafkaMember
from support.members.threads import Load
from support.observer.observing import create_topic, eventually

pytestmark = pytest.mark.integration

PARTITIONS, MEMBERS = 12, 3
NUMBER = itertools.count(1)
CLIENTS = [
    (LibrdkafkaMember, "range"),
    (LibrdkafkaMember, "cooperative-sticky"),
    (KafkaPythonMember, "range"),
    (KafkaPythonMember, "cooperative-sticky"),
    (AiokafkaMember, "range"),
]


def named(value):
    return getattr(value, "__name__", value)


@pytest.fixture
def topic(kafka):
    name = f"seats-{next(NUMBER)}"
    create_topic(kafka.bootstrap_servers, name, PARTITIONS)
    return name


@pytest.fixture
def joined():
    with joining() as join:
        yield join


class Group:
    """A group of equal members behind one gateway."""

    def __init__(self, joined, through, topic, kind, own):
        self.joined, self.through, self.topic, self.kind, self.own = joined, through, topic, kind, own
        self.name, self.members, self.everybody = f"group-of-{topic}", [], []

    def start(self, **properties):
        name = f"member-{len(self.everybody)}"
        self.everybody.append(
            self.joined(self.kind, self.through.bootstrap, self.name, self.topic, name, self.own, **properties)
        )
        return self.everybody[-1]

    def fill(self, number=MEMBERS):
        for count in range(1, number + 1):
            self.members.append(self.start())
            eventually(
                lambda count=count: self.whole() and all(shares(*self.members[:count])), waiting_for=self.state()
            )

    def whole(self):
        return sum(shares(*self.members)) == PARTITIONS and all(shares(*self.members))

    def generation(self):
        return self.through.generation(self.name)

    def state(self):
        return self.through.acts.counted, self.through.events


def roll_with_surge(group):
    """Replace each member: the new one is started first, and the old one ends when the new one waits or has joined."""
    for _ in range(MEMBERS):
        before = group.through.acts.done("hold"), group.generation()
        new = group.start()
        eventually(lambda b=before, n=new: group.through.acts.done("hold") > b[0] or n.owned, waiting_for=group.state())
        old = group.members.pop(0)
        old.close()
        group.members.append(new)
        eventually(group.whole, waiting_for=group.state())


@pytest.mark.parametrize(("kind", "own"), CLIENTS, ids=named)
def test_a_rolling_restart_with_surge_causes_no_rebalance(kafka, topic, joined, kind, own):
    with (
        gateway(kafka.bootstrap_servers, seats=".*=on,seats.hold.seconds=30") as through,
        Load(kafka, topic, PARTITIONS) as load,
    ):
        group = Group(joined, through, topic, kind, own)
        group.fill()
        before = group.generation()
        roll_with_surge(group)
        assert group.generation() == before
        read_everything(load, *group.everybody)
        for each in group.members:
            each.close()
    assert through.acts.done("handover") == MEMBERS
    assert through.acts.rebalances_spared == {"on": MEMBERS}
