"""Groups of the consumer protocol on a running broker; their target assignment is read after each change."""

from __future__ import annotations

import base64
import threading

from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.model.subscription import MemberSubscription
from support.migration.members import EpochMember

TOPICS = {"t1": 17, "t2": 6, "t3": 3}
ROUNDS_MAX = 2_000


def topics_of(kafka):
    """Topic -> its id as Kafka prints it; the topics are created."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    for future in admin.create_topics([NewTopic(*topic, 1) for topic in TOPICS.items()]).values():
        future.result()
    return Cluster({"bootstrap.servers": kafka.bootstrap_servers}).topic_ids(TOPICS)


def bucket(topic_id):
    """The bucket of an id in a Java map of up to 12 elements."""
    number = int.from_bytes(base64.urlsafe_b64decode(topic_id + "=="), "big")
    value = (number >> 64) ^ (number & (2**64 - 1))
    value = (value >> 32 ^ value) & (2**32 - 1)
    return (value ^ value >> 16) & 15


def signed(topic_id):
    """The two numbers by which Java compares ids."""
    raw = base64.urlsafe_b64decode(topic_id + "==")
    return tuple(int.from_bytes(part, "big", signed=True) for part in (raw[:8], raw[8:]))


class LiveGroup:
    """One group; members join and leave at random, and each new member has random topics."""

    def __init__(self, broker, group, rnd, ids):
        self.broker, self.group, self._rnd, self._ids = broker, group, rnd, ids
        self._names = {topic_id: name for name, topic_id in ids.items()}
        self.assignor = rnd.choice(["uniform", "uniform", "range"])
        self._equal = rnd.random() < 0.5
        self.members = []
        self._target = {}

    def ordered_topics(self):
        """The topics in the order in which the broker's assignor reads them."""
        equal = len({each.topics for each in self.members}) <= 1
        return sorted(TOPICS, key=lambda name: bucket(self._ids[name]) if equal else signed(self._ids[name]))

    def change(self):
        """Make one change; return the target before, the members with their partitions in it, and the target after."""
        before = self._target
        rnd = self._rnd
        if len(self.members) < 2 or rnd.random() < 0.6:
            topics = tuple(TOPICS) if self._equal else tuple(sorted(rnd.sample(list(TOPICS), rnd.randint(1, 3))))
            self.members.append(EpochMember(self.group, topics, assignor=self.assignor))
            assert self.members[-1].join(self.broker) == (0, None)
        else:
            self.members.pop(rnd.randrange(len(self.members))).leave(self.broker)
        self._settle()
        self._target = {member.member_id: self._held(member) for member in self.members}
        order = self.ordered_topics()
        members = tuple(
            MemberSubscription(each.member_id, each.topics, owned=self._in_map_order(before.get(each.member_id, {})))
            for each in self.members
        )
        assert order
        return before, members, self._target

    def _in_map_order(self, held):
        return {name: held[name] for name in sorted(held, key=lambda name: bucket(self._ids[name]))}

    def _held(self, member):
        return {self._names[each["topic_id"]]: tuple(sorted(each["partitions"])) for each in member.partitions}

    def _settle(self):
        """Send heartbeats until all members are in one epoch and all partitions have an owner."""
        pause = threading.Event()
        subscribed = {topic for member in self.members for topic in member.topics}
        for _ in range(ROUNDS_MAX):
            for member in self.members:
                error, text = member.beat(self.broker)
                assert error == 0, text
            epochs = {member.epoch for member in self.members}
            count = sum(len(each["partitions"]) for member in self.members for each in member.partitions)
            if len(epochs) == 1 and count == sum(TOPICS[topic] for topic in subscribed):
                return
            # A coordinator gets the metadata of new topics a moment after the controller.
            pause.wait(0.01)
        raise AssertionError([(member.epoch, member.partitions) for member in self.members])
