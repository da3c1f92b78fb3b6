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
def test_the_groups_in_which_gateways_keep_locks_are_never_shown(deny):
    """A deny pattern of the user's own replaces the default one, which hides them, too."""
    shows = GroupFilter(".*", deny)
    assert not shows("rebalance-agent.seats.orders")
    assert shows("orders")
    assert shows("orders.rebalance-agent.seats.x")
    assert not GroupFilter("rebalance-agent.seats.orders")("rebalance-agent.seats.orders")


def test_a_topic_may_have_such_a_name():
    assert NameFilter(".*", "")("rebalance-agent.seats.orders")


def test_the_observer_leaves_them_out_whatever_its_patterns_are():
    settings = ObserverSettings(groups_deny="")
    context = watch_context({}, settings, Inbox(), Calls(), Calls(), FakeClock())
    assert context.shows("orders")
    assert not context.shows("rebalance-agent.seats.orders")
