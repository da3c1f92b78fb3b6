from __future__ import annotations

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.cluster.inbox import Inbox
from rebalance_agent.cluster.name_filters import GroupFilter, NameFilter
from rebalance_agent.runtime.settings.roles import HIDDEN_GROUPS, ObserverSettings
from rebalance_agent.runtime.watch.cluster_watch import watch_context
from support.observer.fakes import Calls


def test_the_whole_name_must_match():
    shows = NameFilter("orders", "")
    assert shows("orders")
    assert not shows("orders-2")
    assert not shows("my-orders")


def test_deny_wins_over_allow_and_an_empty_deny_denies_nothing():
    assert not NameFilter("a.*", "ab")("ab")
    assert NameFilter("a.*", "ab")("abc")
    assert NameFilter(".*", "")("")


def test_a_name_with_line_feeds_and_quotes_is_a_name():
    assert NameFilter()('a\n"b"')
    assert not NameFilter(".*", ".*b.*")("a\nb")


@pytest.mark.parametrize("group", ["__internal", "_confluent-ksql", "rebalance-agent", "console-consumer-12345"])
def test_internal_groups_and_those_of_the_agent_are_hidden_by_default(group):
    assert not NameFilter(".*", HIDDEN_GROUPS)(group)
    assert NameFilter(".*", "")(group)


def test_ordinary_groups_are_shown_by_default():
    assert all(map(NameFilter(".*", HIDDEN_GROUPS), ["orders", "console-consumer", "my-rebalance-agent", "_x"]))


@pytest.mark.parametrize("deny", ["", "test-.*", HIDDEN_GROUPS])
def test_lock_groups_of_gateways_are_never_shown(deny):
    """A user's deny pattern replaces the default one, which also hides these groups."""
    shows = GroupFilter(".*", deny)
    assert not shows("rebalance-agent.seats.orders")
    assert shows("orders")
    assert shows("orders.rebalance-agent.seats.x")
    assert not GroupFilter("rebalance-agent.seats.orders")("rebalance-agent.seats.orders")


def test_a_topic_may_have_the_name_of_a_lock_group():
    assert NameFilter(".*", "")("rebalance-agent.seats.orders")


def test_the_observer_omits_lock_groups_with_any_patterns():
    settings = ObserverSettings(groups_deny="")
    context = watch_context({}, settings, Inbox(), Calls(), Calls(), FakeClock())
    assert context.shows("orders")
    assert not context.shows("rebalance-agent.seats.orders")
