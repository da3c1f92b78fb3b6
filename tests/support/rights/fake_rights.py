"""Brokers that respond like Kafka's authorizer, without a network."""

from __future__ import annotations

import re

from rebalance_agent.cluster.access import Existence, TopicAccess
from rebalance_agent.errors import ClusterError

__all__ = ["Brokers"]


def _reported(operation):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operation).lower()


class Brokers:
    """Responds like brokers to a principal with ``rights``; topics in ``absent`` do not exist."""

    def __init__(self, rights, absent=(), *, describes=True):
        self.held = {(right.resource, right.name, _reported(right.operation)) for right in rights}
        self.absent = absent
        self.describes = describes
        self.fails = False

    def _operations(self, resource, name):
        return frozenset(operation for kind, on, operation in self.held if (kind, on) == (resource, name))

    def topics(self, names):
        if self.fails:
            raise ClusterError("away")
        return {name: self._topic(name) for name in names}

    def _topic(self, name):
        operations = self._operations("Topic", name)
        if not (operations - {"create"} or self.sees_every_topic()):
            return TopicAccess(Existence.HIDDEN)
        if name in self.absent:
            return TopicAccess(Existence.ABSENT)
        return TopicAccess(Existence.THERE, operations if self.describes else None)

    def sees_every_topic(self):
        return ("Topic", "*", "describe") in self.held

    def sees_every_group(self):
        return ("Group", "*", "describe") in self.held

    def reads_settings_of_every_group(self):
        return ("Group", "*", "describe_configs") in self.held if self.describes else None

    def group(self, name):
        return self._operations("Group", name) or Existence.HIDDEN

    def may_create(self, topic, partitions):
        return ("Topic", topic, "create") in self.held
