"""The definition of a member's host, and the spread over hosts in a group's view."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.assignors.hosts.host_names import CLIENT_ID_MAX, RULES_MAX, HostNames
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.tracking.observations import DescribedGroup, GroupDescribed
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.tracking.views import MemberLoad
from support.tracker.epochs import group_of_two
from support.tracker.tracking import T0, assigned, feed, member, record, topics

NODE = Workload(pod="orders-1", node="n1")


def name(text, client_id="app01-7", address="/10.0.0.1", where=None, group="orders"):
    return HostNames.parse(text).of(group).name(client_id, address, where)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("", "10.0.0.1"),
        ("orders=address; .*=node", "10.0.0.1"),
        ("others=node", "10.0.0.1"),
        (".*=node", "n1"),
        (".*=pod", "orders-1"),
        (r".*=(app\d+)-.*", "app01"),
        (r"orders=(?:(app)\d+|other)-.*" + "\n" + r".*=(.)", "app"),
        (r".*=(app\d+)", "10.0.0.1"),  # the whole client id must match
        (r".*=(?=a)(app\d+)-.*", "app01"),  # an equals sign in the rule
        (r".*=(x)?app.*", "10.0.0.1"),  # the group does not match
    ],
)
def test_a_rule_determines_the_host(text, host):
    assert name(text, where=NODE) == host


def test_a_member_without_reports_has_its_address_as_host():
    assert name(".*=node") == "10.0.0.1"
    assert name(".*=node", where=Workload(pod="orders-1")) == "10.0.0.1"


@pytest.mark.parametrize(
    "text",
    [
        "orders",
        "=node",
        "orders=",
        "orders=nodes",
        "(=node",
        "orders=(app",
        r"orders=app\d+",
        "a=node;" * (RULES_MAX + 1),
    ],
)
def test_wrong_rules_are_refused(text):
    with pytest.raises(InvalidInputError):
        HostNames.parse(text)


def test_a_long_client_id_is_read_to_its_bound():
    assert name("orders=(a+)", client_id="a" * 100_000) == "a" * CLIENT_ID_MAX


def on_two_hosts(*more, text=""):
    """Each of 20 topics is wholly on one of two hosts."""
    names = {index: f"t{index}" for index in range(40)}
    members = [
        member(each, {names[index]: (0, 1) for index in owned}, topics=tuple(names.values()), client=f"{each[0]}-1")
        for each, owned in (("a", range(20)), ("bb", range(20, 40)))
    ]
    tracker = Tracker("cluster", host_names=HostNames.parse(text))
    feed(tracker, topics(0, **dict.fromkeys(names.values(), 2)), record(4_000, 1, *members), *more)
    return tracker


def test_the_view_has_the_spread_over_the_addresses_of_the_record():
    found = on_two_hosts().view("g").host_spread
    assert (found.topics, found.on_one_host, found.hosts, found.clustered_ratio) == (40, 40, 2, 1)


def test_the_view_has_the_spread_over_the_hosts_of_the_setting():
    assert on_two_hosts(text=r"g=([ab])-\d").view("g").host_spread.hosts == 2
    assert on_two_hosts(text=r"g=([ab])?(-\d)?").view("g").host_spread.hosts == 2
    assert on_two_hosts(text=r"g=.-(\d)").view("g").host_spread is None


def test_reported_nodes_count_as_soon_as_they_are_known():
    watching = on_two_hosts(text="g=node")
    assert watching.view("g").host_spread.hosts == 2
    for each in ("a", "bb"):
        report = assigned(each, 4_100, 4_200, 1, ())
        feed(watching, replace(report, event=replace(report.event, where=NODE)))
    assert watching.view("g").host_spread is None


def test_members_of_a_consumer_group_have_the_hosts_of_their_records():
    watching = Tracker("cluster")
    feed(watching, *group_of_two(a=(0,), b=(1,)))
    assert watching.view("g").host_spread is None  # both are on 10.0.0.1
    named = Tracker("cluster", host_names=HostNames.parse("g=client-(.)"))
    feed(named, *group_of_two(a=(0,), b=(1,)))
    assert (named.view("g").host_spread.hosts, named.view("g").host_spread.on_one_host) == (2, 0)


def test_a_polled_group_has_no_spread_because_its_subscriptions_are_unknown():
    shown = tuple(MemberLoad(each, None, each, f"/{each}", {"t": (at,)}) for at, each in enumerate("ab"))
    watching = Tracker("cluster")
    feed(watching, GroupDescribed(T0, DescribedGroup("g", GroupState.STABLE, GroupType.CLASSIC, "range", shown)))
    assert watching.view("g").host_spread is None
