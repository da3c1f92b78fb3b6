"""``rebalance-agent gateway --explain`` during a running group prints the plan and changes nothing."""

from __future__ import annotations

import socket
import uuid

import pytest
from confluent_kafka.admin import AdminClient

from rebalance_agent.cli import main
from support.gateway.running import Plain
from support.observer.observing import create_topic, eventually

pytestmark = pytest.mark.integration


def explained(kafka, capsys, group, rules):
    """The exit code, and the output as one line."""
    return explained_at(kafka.bootstrap_servers, capsys, group, rules)


def explained_at(bootstrap, capsys, group, rules):
    servers = ["--bootstrap-servers", bootstrap]
    code = main.main(["gateway", *servers, "--gateway-groups", rules, "--explain", group])
    return code, " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("own", "strategy", "code", "verdict"),
    [
        ("range", "weighted-sticky", 0, "Result the group uses weighted-sticky from the first rebalance"),
        ("cooperative-sticky", "weighted-sticky", 1, "weighted-sticky is eager, but a client with cooperative-sticky"),
    ],
)
def test_explain_shows_the_changes_to_a_group_without_making_them(kafka, capsys, own, strategy, code, verdict):
    group = f"explained-{uuid.uuid4().hex[:8]}"
    create_topic(kafka.bootstrap_servers, group, 4)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})

    def described():
        now = admin.describe_consumer_groups([group])[group].result()
        return now.state, now.partition_assignor, [each.member_id for each in now.members]

    one = Plain(kafka.bootstrap_servers, group, group, **{"client.id": "app", "partition.assignment.strategy": own})
    try:
        eventually(lambda: len(one.owned) == 4)
        before, assigned = described(), one.assigned
        ended, text = explained(kafka, capsys, group, f"{group}={strategy},assignment.consumer.weight=300")
        assert (described(), one.assigned) == (before, assigned)
    finally:
        one.close()
    assert ended == code
    assert (f"The gateway adds {strategy} before the client's own assignors" in text) is (code == 0)
    assert f"classic group, Stable, 1 member, assignor {own}" in text
    assert "app on /127.0.0.1: 4 partitions" in text
    assert verdict in text


def test_explain_of_seats_is_uncertain_where_records_of_kip_848_do_not_show_that_a_member_left(kafka, capsys):
    group = f"epochs-{uuid.uuid4().hex[:8]}"
    create_topic(kafka.bootstrap_servers, group, 4)
    classic = dict.fromkeys(("heartbeat.interval.ms", "session.timeout.ms"))

    def start(name):
        more = {"group.protocol": "consumer", "client.id": name, **classic}
        return Plain(kafka.bootstrap_servers, group, group, **more)

    members = [start("a"), start("b")]
    try:
        eventually(lambda: [len(one.owned) for one in members] == [2, 2])
        members.append(start("new"))
        eventually(lambda: all(one.owned for one in members))
        members.pop(0).close()
        eventually(lambda: [len(one.owned) for one in members] == [2, 2])
        servers = ["--bootstrap-servers", kafka.bootstrap_servers, "--gateway-seats", f"{group}=observe"]
        assert main.main(["gateway", *servers, "--gateway-admission-seconds", "10", "--explain", group]) == 0
    finally:
        for one in members:
            one.close()
    text = " ".join(capsys.readouterr().out.split())
    assert "consumer group, Stable, 2 members, assignor uniform" in text
    assert "With mode 'on', a newcomer would wait for at most 24 s." in text
    assert "rebalances since" in text
    assert "It is not certain that this rule would have avoided any of them." in text
    assert "have merged" not in text, "each newcomer adds an epoch of its own"


def test_explain_names_a_group_that_does_not_exist(kafka, capsys):
    group = f"nobody-{uuid.uuid4().hex[:8]}"
    assert explained(kafka, capsys, group, f"{group}=sticky")[0] == 0
    code, text = explained(kafka, capsys, group, "other=sticky")
    assert code == 0
    assert "No rule of gateway_groups matches the group's name" in text
    assert "The group does not exist." in text


def test_explain_without_a_response_of_the_brokers_ends_with_1(capsys):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    code, text = explained_at(address, capsys, "orders", "orders=sticky")
    assert code == 1
    assert "The gateway adds sticky before the client's own assignors" in text
    assert "The group's state is not known: describing groups: " in text
    assert "Connection refused" in text
