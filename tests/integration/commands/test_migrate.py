"""A group migrates to the consumer protocol on a real broker, and `migrate` reports its state at each step."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import uuid
from contextlib import closing, contextmanager

import pytest

from rebalance_agent.cli import main
from support.gateway.gateway_members import KafkaPythonMember
from support.gateway.gatewaying import gatewaying
from support.members.member_lines import LibrdkafkaMember
from support.members.threads import create_topic
from support.migration.members import Broker, ClassicMember, EpochMember, stable
from support.observer.observing import KIP_848, eventually, observing

pytestmark = pytest.mark.integration

PARTITIONS = 6
MEMBERS = 3
"""Members of the group that is migrated as on the page."""


@pytest.fixture
def broker(kafka):
    connected = Broker(kafka.bootstrap_servers)
    yield connected
    connected.close()


def answer(kafka, capsys, group, *arguments):
    """The exit code and the JSON."""
    code = main.main(["migrate", group, "--bootstrap-servers", kafka.bootstrap_servers, "--json", *arguments])
    return code, json.loads(capsys.readouterr().out)


@contextmanager
def beating(broker, members):
    """The members send heartbeats during the block."""
    stop = threading.Event()

    def beat():
        while not stop.wait(0.05):
            for member in members:
                member.beat(broker)

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_group_is_followed_from_one_protocol_to_the_other(kafka, broker, capsys):
    topic, group = create_topic(kafka, PARTITIONS), f"migrate-{uuid.uuid4().hex[:8]}"
    old = [ClassicMember(group, (topic,)), ClassicMember(group, (topic,))]
    assigned = {0: {topic: (0, 1, 2)}, 1: {topic: (3, 4, 5)}}
    stable(broker, old, assigned, {1: b"tasks"})

    code, found = answer(kafka, capsys, group)
    assert (code, found["online"], found["step"]["go"]) == (1, False, "no-go")
    assert [each["subject"] for each in found["findings"] if each["verdict"] == "blocks"] == ["user_data"]
    refused, text = EpochMember(group, (topic,)).join(broker)
    assert refused, "the broker agrees"
    assert "custom assignor" in text

    for member in old:
        member.generation = -1
    stable(broker, old, assigned)
    code, found = answer(kafka, capsys, group)
    assert (code, found["online"], found["can_change"], found["classic_members"]) == (
        1,
        True,
        None,
        2,
    )  # unknown client
    assert [each["assignor"] for each in found["what_if"]["brokers"]] == ["uniform", "range"]

    command = [sys.executable, "-m", "rebalance_agent.cli.main", "migrate", group, "--watch", "--json"]
    command += ["--bootstrap-servers", kafka.bootstrap_servers]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        first = json.loads(watching.stdout.readline())
        assert (first["go"], first["classic"]) == ("go", 2)
        new = [EpochMember(group, (topic,)) for _ in old]
        for member, successor in zip(old, new, strict=True):
            assert successor.join(broker) == (0, None)
            member.leave(broker)
        steps = [json.loads(watching.stdout.readline())]
        while steps[-1]["classic"]:
            steps.append(json.loads(watching.stdout.readline()))
        assert steps[-1]["go"] == "wait"
        with beating(broker, new):
            *rest, last = [json.loads(line) for line in watching.stdout]
        assert watching.wait(30) == 0
    steps += rest
    assert steps[-1] == {
        "go": "done",
        "classic": 0,
        "members": 2,
        "reason": "all members use the consumer protocol",
        "way_back": "restart the new members with the old configuration",
    }
    assert last["report"]["since"]["rebalances"] > 0
    assert last["complete"]

    code, found = answer(kafka, capsys, group)
    assert (code, found["done"]) == (0, True)
    assert found["report"]["since"]["rebalances"] > 0


def test_a_group_is_followed_back_to_the_classic_protocol(kafka, broker):
    topic, group = create_topic(kafka, PARTITIONS), f"migrate-{uuid.uuid4().hex[:8]}"
    old, new = [ClassicMember(group, (topic,)), ClassicMember(group, (topic,))], EpochMember(group, (topic,))
    assigned = {0: {topic: (0, 1, 2)}, 1: {topic: (3, 4, 5)}}
    stable(broker, old, assigned)
    command = [sys.executable, "-m", "rebalance_agent.cli.main", "migrate", group, "--watch", "--json"]
    command += ["--bootstrap-servers", kafka.bootstrap_servers]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        steps = [json.loads(watching.stdout.readline())]
        assert new.join(broker) == (0, None)
        while steps[-1]["members"] != 3:
            steps.append(json.loads(watching.stdout.readline()))
        assert steps[-1]["way_back"] == "restart the new members with the old configuration"
        assert new.leave(broker) == (0, None)
        while steps[-1]["go"] != "back":
            steps.append(json.loads(watching.stdout.readline()))
        for member in old:
            member.generation = -1
        stable(broker, old, assigned)
        (last,) = [json.loads(line) for line in watching.stdout]
        assert watching.wait(30) == 1
    assert (steps[-1]["classic"], steps[-1]["members"], steps[-1]["way_back"]) == (2, 2, None)
    assert "done" not in {each["go"] for each in steps}
    assert all(each["members"] for each in steps)
    assert last["complete"]


def test_three_members_are_replaced_one_by_one_and_go_back_as_on_the_page(kafka, monkeypatch):
    topic, unique = create_topic(kafka, 2 * PARTITIONS), uuid.uuid4().hex[:8]
    group, published = f"migrate-{unique}", f"events-{unique}"
    monkeypatch.setenv("REBALANCE_AGENT_EVENTS_TOPIC", published)
    members = []

    def start(number, protocol="classic"):
        epochs = {**KIP_848, "session.timeout.ms": None} if protocol == "consumer" else {}
        name, assignor = f"readings-{number}", "" if epochs else "range"
        members.append(LibrdkafkaMember(kafka.bootstrap_servers, group, topic, name, assignor, **epochs))

    def replaced(protocol, *arguments):
        """The steps in which the members were replaced, with the number of members of that protocol; the report."""
        command = [sys.executable, "-m", "rebalance_agent.cli.main", "migrate", group, "--watch", "--json", *arguments]
        command += ["--bootstrap-servers", kafka.bootstrap_servers]
        steps, waits = [], 0
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
            try:
                for line in watching.stdout:
                    step = json.loads(line)
                    if "report" in step:
                        break
                    changed = step["classic"] if protocol == "classic" else step["members"] - step["classic"]
                    waits += step["go"] == "wait"
                    # A GO with fewer members is printed while the successor of the last one is starting.
                    incomplete = step["go"] == "go" and step["members"] < MEMBERS
                    if step["go"] == "wait" or incomplete or (step["go"], changed) in steps:
                        continue
                    steps.append((step["go"], changed))
                    if step["go"] == "go":
                        members.pop(0).close()
                        start(changed + 1, protocol)
                assert watching.wait(30) == 0
            finally:
                watching.kill()
        assert step["complete"]
        assert waits
        return steps, step["report"]

    try:
        with observing(kafka.bootstrap_servers, events_topic=published):
            for number in range(1, MEMBERS + 1):
                start(number)
            eventually(lambda: all(each.owned for each in members) and len(owned(members)) == 2 * PARTITIONS)
            steps, report = replaced("consumer")
            assert steps[:-1] == [("go", 0), ("go", 1), ("go", 2)]
            assert steps[-1] in {("done", 2), ("done", 3)}
            assert (report["back"], report["returned"]) == (False, None)
            eventually(lambda: all(each.owned for each in members) and len(owned(members)) == 2 * PARTITIONS)
            steps, report = replaced("classic", "--back")
            assert steps[:-1] == [("go", 0), ("go", 1), ("go", 2)]
            assert steps[-1] in {("back", 2), ("back", 3)}
            assert (report["back"], report["returned"]["assignor"]) == (True, "range")
            assert report["since"]["moved"]
    finally:
        for each in members:
            each.close()


def owned(members):
    """All partitions of the members."""
    return frozenset().union(*(each.owned for each in members))


def test_the_libraries_of_members_behind_a_gateway_are_known(kafka, monkeypatch):
    topic, unique = create_topic(kafka, PARTITIONS), uuid.uuid4().hex[:8]
    group, published = f"migrate-{unique}", f"events-{unique}"
    monkeypatch.setenv("REBALANCE_AGENT_EVENTS_TOPIC", published)
    with (
        observing(kafka.bootstrap_servers, events_topic=published),
        gatewaying(kafka.bootstrap_servers, events_topic=published) as through,
        closing(LibrdkafkaMember(through.bootstrap, group, topic, "one")) as one,
        closing(KafkaPythonMember(through.bootstrap, group, topic, "other")) as other,
    ):
        eventually(lambda: one.owned and other.owned and len(one.owned | other.owned) == PARTITIONS)
        command = [sys.executable, "-m", "rebalance_agent.cli.main", "migrate", group, "--json"]
        command += ["--bootstrap-servers", kafka.bootstrap_servers]
        code, found = eventually(lambda: with_libraries(command))
    assert (code, found["can_change"]) == (0, True)
    assert [each["text"] for each in found["findings"] if each["subject"] in {"clients", "protocol"}] == [
        "other cannot change: kafka-python does not support the consumer protocol"
    ]


def with_libraries(command):
    """The exit code and the JSON, once the events of both members are published."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    found = json.loads(done.stdout)
    return (done.returncode, found) if found["can_change"] is not None else None


def test_a_group_that_does_not_exist(kafka, capsys):
    assert main.main(["migrate", "nobody", "--bootstrap-servers", kafka.bootstrap_servers]) == 1
    assert "there is no group 'nobody'" in capsys.readouterr().err
