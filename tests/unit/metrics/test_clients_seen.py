"""Consumers that report to a sidecar: a partition has one owner, and others cost nothing."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.metrics.export.clients_seen import ClientsSeen
from rebalance_agent.model.events import Callback
from support.tracker.tracking import said


def assigned(clients, name, **partitions):
    """Take an assigned callback; return the consumer."""
    event = replace(said(Callback.ASSIGNED, name, 0, 1, 1).event, partitions=partitions)
    client = clients.record(event, 0.0)
    clients.callback(client, event)
    return client


def test_a_partition_moves_to_the_consumer_that_reports_it():
    clients = ClientsSeen()
    a, b = assigned(clients, "a", t=(0, 1), u=(0,)), assigned(clients, "b", t=(1, 2))
    assert [{topic: tuple(numbers) for topic, numbers in each.owned.items()} for each in (a, b)] == [
        {"t": (0,), "u": (0,)},
        {"t": (1, 2)},
    ]


def test_consumers_of_other_topics_are_unchanged():
    """Thousands may report to one sidecar."""
    clients = ClientsSeen()
    other = assigned(clients, "a", u=(0,))
    owned = other.owned
    assigned(clients, "b", t=(0,))
    assert other.owned is owned
