"""Consumers that report to a sidecar: a partition has one owner, and silent consumers are removed."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.metrics.export.clients_seen import OVERDUE_SECONDS, SILENT_EVERY_S, ClientsSeen
from rebalance_agent.model.episode import Evidence
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
    assert [status.owned for status in clients.statuses(0.0, 0)] == [{"t": (0,), "u": (0,)}, {"t": (1, 2)}]
    assert [clients.partitions(each) for each in (a, b)] == [2, 2]


def test_a_consumer_that_is_removed_owns_nothing_when_it_returns():
    clients = ClientsSeen()
    clients.forget(assigned(clients, "a", t=(0, 1)))
    assert list(clients) == []
    assert clients.partitions(assigned(clients, "a", u=(0,))) == 1


def test_a_consumer_behind_a_gateway_is_not_overdue_while_it_waits_to_join():
    clients = ClientsSeen()
    for name, evidence in (("a", Evidence.MEMBERS), ("b", Evidence.GATEWAY)):
        clients.record(replace(said(Callback.ASSIGNED, name, 0, 1, 1).event, evidence=evidence), 0.0)
    clients.renew_all(0.0)
    assert [each.overdue for each in clients.statuses(OVERDUE_SECONDS, 0)] == [False, False]
    assert [each.overdue for each in clients.statuses(OVERDUE_SECONDS + 1, 0)] == [True, False]


def test_silent_consumers_are_searched_at_most_once_a_second(monkeypatch):
    """The search reads all consumers, and every post would wait for it."""
    clients, searches = ClientsSeen(), []
    assigned(clients, "a", t=(0,))
    monkeypatch.setattr(ClientsSeen, "__iter__", lambda self: searches.append(1) or iter(self._clients.values()))
    for tenth in range(10):
        clients.forget_silent(tenth / 10 * SILENT_EVERY_S, 60.0, 60.0)
    assert len(searches) == 1
    clients.forget_silent(61.0, 60.0, 60.0)
    assert list(clients) == []
