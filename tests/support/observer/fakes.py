"""Test doubles: a collector context that keeps calls, and Kafka records without a broker."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from rebalance_agent.clock import FakeClock
from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.inbox import Inbox
from rebalance_agent.cluster.name_filters import NameFilter
from rebalance_agent.model.episode import Evidence, Phases, Source, Trigger
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.model.group_event import event_id


class Calls:
    """Accepts every method call and keeps it as (name, *arguments). Safe from several threads."""

    def __init__(self):
        self.made = []
        self._changed = threading.Condition()

    def __getattr__(self, name):
        def call(*arguments, **named):
            with self._changed:
                self.made.append((name, *arguments, *named.values()))
                self._changed.notify_all()

        return call

    def of(self, name):
        return [made[1:] for made in self.made if made[0] == name]

    def wait_for(self, condition, seconds=10):
        with self._changed:
            assert self._changed.wait_for(lambda: condition(self), seconds), self.made


@dataclass
class FakeRecord:
    key_bytes: bytes | None
    value_bytes: bytes | None = None
    header_list: list | None = None
    timestamp_ms: int = 1_000
    at: tuple[int, int] = (0, 0)

    def __len__(self):
        return len(self.value_bytes or b"")

    def leader_epoch(self):
        return None

    def partition(self):
        return self.at[0]

    def offset(self):
        return self.at[1]

    def key(self):
        return self.key_bytes

    def value(self):
        return self.value_bytes

    def headers(self):
        return self.header_list

    def timestamp(self):
        return (1, self.timestamp_ms)


def fake_context(cluster=None, *, shows=None, inbox=None):
    return CollectorContext({}, cluster, inbox or Inbox(), Calls(), Calls(), FakeClock(), shows or NameFilter())


def generation_event(**fields):
    """Generation 3 of group g without changes, except ``fields``."""
    usual = {
        "event_id": event_id("generation", "c", "g", GroupType.CLASSIC, 3, 1_000),
        "cluster_id": "c",
        "group": "g",
        "timestamp_ms": 1_000,
        "source": Source.RECORDS,
        "group_type": GroupType.CLASSIC,
        "generation": 3,
        "previous_generation": 2,
        "episode_generation": 3,
        "closes_episode": True,
        "followups": 0,
        "assignor": "range",
        "protocol": RebalanceProtocol.EAGER,
        "phases": Phases(1_000, Evidence.RECORD),
        "trigger": Trigger.REJOIN,
        "causes": (Trigger.REJOIN,),
        "stall": None,
        "members": (),
        "topics": {"t": 4},
        "moved": 0,
        "needed": 0,
        "revoked": 0,
        "assigned": 0,
        "lost": 0,
        "lost_min": 0,
        "unassigned": 0,
        "noop": True,
    }
    return GenerationEvent(**{**usual, **fields})
