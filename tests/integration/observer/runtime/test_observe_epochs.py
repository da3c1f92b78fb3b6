"""Where the offsets topic may not be read, groups whose coordinator assigns are described with their epochs."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest
from confluent_kafka.admin import AclOperation, AdminClient

from support.kafka.hidden_offsets import EVENTS, SOON, TRUTH, beside_the_truth, generations, hidden_offsets
from support.members.share_consumer import share_consumer
from support.observer.observing import KIP_848, create_topic, eventually, members
from support.rights.granted import deny

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def kafka():
    with hidden_offsets("SCRAM-SHA-512") as kafka:
        yield kafka


@pytest.fixture
def stack():
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def watched(kafka, stack):
    return stack.enter_context(beside_the_truth(kafka, "SCRAM-SHA-512", **SOON))


def shown(event):
    """What both sources have of every generation. Only descriptions name the assignor if no member asks for one."""
    members = {member["member_id"]: (member["client_id"], member["assigned"]) for member in event["members"]}
    return members, event["topics"], event["group_type"]


def test_generations_of_a_consumer_group_are_those_of_the_records(kafka, watched, stack):
    group, bootstrap = "epochs", kafka.bootstrap_servers
    eventually(lambda: watched.metric("rebalance_agent_degraded", mode="admin-only") == 1)
    with members(bootstrap, "before", "t", 1, **KIP_848):  # once it is shown, the absence of the other is known
        eventually(lambda: watched.source("before") == "describe")
    with members(bootstrap, group, "t", 1, **KIP_848):
        eventually(lambda: watched.metric("kafka_rebalance_partitions_unassigned", consumergroup=group) == 0)
        assert watched.source(group) == "describe"
        with members(bootstrap, group, "t", 1, **KIP_848):
            eventually(lambda: watched.metric("kafka_rebalance_members", consumergroup=group) == 2)
            eventually(lambda: any(len(each["members"]) == 2 for each in generations(kafka, EVENTS, group).values()))
            eventually(lambda: any(len(each["members"]) == 2 for each in generations(kafka, TRUTH, group).values()))
    eventually(lambda: watched.metric("kafka_rebalance_group_state", consumergroup=group, state="Empty") == 1)
    eventually(lambda: any(not each["members"] for each in generations(kafka, EVENTS, group).values()))
    eventually(lambda: any(not each["members"] for each in generations(kafka, TRUTH, group).values()))
    seen, truth = generations(kafka, EVENTS, group), generations(kafka, TRUTH, group)
    assert {event["source"] for event in seen.values()} == {"describe"}
    assert seen.keys() <= truth.keys(), "nothing is invented"
    assert [shown(seen[number]) for number in seen] == [shown(truth[number]) for number in seen]
    for number, event in seen.items():
        true, phases = truth[number]["phases"], event["phases"]
        assert phases["completed_ms"] >= true["completed_ms"] - 50, "the poll came after it"
        if phases.get("started_ms") is not None and event.get("previous_generation") == truth[number].get(
            "previous_generation"
        ):
            assert phases["started_ms"] - 50 <= true["started_ms"] <= phases["started_latest_ms"] + 50
    first = min(seen)
    assert seen[first]["trigger"] == truth[first]["trigger"] == "group_started"
    with_two = next(each for each in seen.values() if len(each["members"]) == 2)
    assert (with_two["trigger"], with_two["moved"]) == ("member_joined", 2)


def test_a_share_group_is_described_with_its_epochs_and_members(kafka, watched):
    group = "shared"
    metric = lambda name, **labels: watched.metric(name, consumergroup=group, **labels)  # noqa: E731
    with share_consumer(kafka, group, "t"):
        eventually(lambda: metric("kafka_rebalance_members") == 1)
        eventually(lambda: metric("kafka_rebalance_partitions_unassigned") == 0)
        assert watched.source(group) == "describe"
        eventually(lambda: any(each["members"] for each in generations(kafka, EVENTS, group).values()))
    eventually(lambda: metric("kafka_rebalance_group_state", state="Empty") == 1)
    eventually(lambda: any(not each["members"] for each in generations(kafka, EVENTS, group).values()))
    seen = generations(kafka, EVENTS, group)
    eventually(lambda: seen.keys() <= generations(kafka, TRUTH, group).keys(), waiting_for="nothing is invented")
    assert {(event["source"], event["group_type"]) for event in seen.values()} == {("describe", "share")}


def test_a_refused_description_is_a_degraded_mode_until_the_group_is_gone(kafka, stack, monkeypatch):
    """KIP-848: a coordinator describes no group whose topics the principal may not describe."""
    for module in ("rights_watch", "observer"):
        monkeypatch.setattr(f"rebalance_agent.runtime.processes.{module}.RIGHTS_WATCH_S", 0.2)
    create_topic(kafka.bootstrap_servers, "secret", 1)
    deny(kafka, "User:observer", "secret", AclOperation.DESCRIBE)
    watched = stack.enter_context(beside_the_truth(kafka, "SCRAM-SHA-512", **SOON))
    degraded = lambda: json.loads(watched.get("/readyz")[1])["degraded"]  # noqa: E731
    eventually(lambda: "admin-only" in degraded())
    with members(kafka.bootstrap_servers, "denied", "secret", 1, **KIP_848):
        eventually(lambda: "'denied'" in degraded().get("epochs-hidden", ""))
        assert watched.ready()
        assert watched.metric("rebalance_agent_degraded", mode="epochs-hidden") == 1
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    admin.delete_consumer_groups(["denied"])["denied"].result()
    eventually(lambda: "epochs-hidden" not in degraded())
