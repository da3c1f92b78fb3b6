"""Groups whose members run on hosts, and the spread of their assignments over hosts."""

from __future__ import annotations

import random
import uuid

from rebalance_agent.assignors import judgement, strategy
from rebalance_agent.model.subscription import GroupAssignment, GroupSubscription, MemberSubscription, TopicMetadata


class OnHosts:
    """A group of ``hosts`` with ``each`` consumers, all of which subscribe to ``topics`` of some partitions.

    ``named``: client ids begin with the name of the host, so that all members of one host sort together.
    """

    def __init__(self, draw: random.Random, hosts, each, topics, *, named=True):
        self.hosts = {}
        for host in range(hosts):
            for _ in range(each):
                name = str(uuid.UUID(int=draw.getrandbits(128), version=4))
                self.hosts[f"application{host + 1:02}-{name}" if named else name] = f"10.0.0.{host}"
        self.topics = {f"topic{index:03}": count for index, count in enumerate(topics)}
        members = tuple(MemberSubscription(name, tuple(self.topics)) for name in self.hosts)
        self.group = GroupSubscription({topic: TopicMetadata(n) for topic, n in self.topics.items()}, members)

    def assigned_by(self, name):
        """The spread and the skew of a strategy's assignment."""
        chosen = strategy(name)
        return self._judged(chosen.assign(self.group), chosen)

    def spread(self, owners):
        """The spread of an assignment: (topic, partition) -> member."""
        given = {name: {} for name in self.hosts}
        for (topic, number), name in owners.items():
            given[name].setdefault(topic, []).append(number)
        held = {name: {topic: tuple(sorted(some)) for topic, some in each.items()} for name, each in given.items()}
        return self._judged(GroupAssignment(held, held), None).host_spread

    def dealt_at_random(self, draw: random.Random):
        """The spread of a random distribution with the best balance."""
        partitions = [(topic, number) for topic, count in self.topics.items() for number in range(count)]
        draw.shuffle(partitions)
        members = draw.sample(sorted(self.hosts), len(self.hosts))
        return self.spread({each: members[place % len(members)] for place, each in enumerate(partitions)})

    def _judged(self, assignment, chosen):
        return judgement(self.group, assignment, chosen, self.hosts)
