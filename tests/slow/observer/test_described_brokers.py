"""Where the offsets topic may not be read, groups are described by their coordinators on several brokers, which restart
one after the other."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from confluent_kafka.admin import AdminClient

from rebalance_agent.model.group import GroupType
from support.kafka.hidden_offsets import EVENTS, SOON, TRUTH, beside_the_truth, generations, hidden_offsets
from support.members.share_consumer import share_consumer
from support.observer.observing import KIP_848, events, eventually, members

pytestmark = [pytest.mark.integration, pytest.mark.slow]

GROUPS = [f"group-{number}" for number in range(9)]
SHARED = "shared"


@pytest.fixture(scope="module")
def kafka():
    with hidden_offsets("SCRAM-SHA-512", brokers=3) as kafka:
        yield kafka


def coordinators(kafka):
    """Group -> node id of its coordinator; groups that are not available now are left out."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    answers = admin.describe_consumer_groups(GROUPS, request_timeout=10)
    return {name: each.result().coordinator.id for name, each in answers.items() if each.exception() is None}


def facts(event):
    """What both sources have of every generation."""
    assigned = {member["client_id"]: member["assigned"] for member in event["members"]}
    return sorted(assigned.items()), event["topics"], event["group_type"], event.get("moved")


def test_groups_of_three_coordinators_are_described_exactly_while_the_brokers_restart(kafka):
    with ExitStack() as stack:
        watched = stack.enter_context(beside_the_truth(kafka, "SCRAM-SHA-512", **SOON))
        eventually(lambda: watched.metric("rebalance_agent_degraded", mode="admin-only") == 1)

        def counts(name):
            return [watched.metric(f"kafka_rebalance_{name}", consumergroup=group) for group in (*GROUPS, SHARED)]

        for group in GROUPS:
            first = {**KIP_848, "client.id": f"{group}-first"}
            stack.enter_context(members(kafka.bootstrap_servers, group, "t", 1, **first))
        stack.enter_context(share_consumer(kafka, SHARED, "t"))
        eventually(lambda: counts("members") == [1] * 10, waiting_for=lambda: counts("members"))
        before = eventually(lambda: len(found := coordinators(kafka)) == len(GROUPS) and found)
        assert len(set(before.values())) == 3, "each broker coordinates some of the groups"

        for node in kafka.node_ids:
            kafka.stop_broker(node)
            # A broker that is away lists no groups; none of them may count as deleted.
            eventually(lambda node=node: node not in coordinators(kafka).values())
            kafka.start_broker(node)
        eventually(lambda: len(coordinators(kafka)) == len(GROUPS))
        for group in GROUPS:
            second = {**KIP_848, "client.id": f"{group}-second"}
            stack.enter_context(members(kafka.bootstrap_servers, group, "t", 1, **second))
        two = [2] * len(GROUPS) + [1]
        eventually(lambda: counts("members") == two, waiting_for=lambda: counts("members"))
        eventually(lambda: counts("partitions_unassigned") == [0] * 10)

        def last(topic):
            found = [generations(kafka, topic, group) for group in GROUPS]
            return [list(each.values())[-1] for each in found if each]

        def complete():
            return all(
                len(found) == len(GROUPS) and all(len(each["members"]) == 2 for each in found)
                for found in (last(EVENTS), last(TRUTH))
            )

        eventually(complete)
        for group in (*GROUPS, SHARED):
            assert all(each["kind"] != "group_gone" for each in events(kafka.bootstrap_servers, EVENTS, group=group))
            seen, truth = generations(kafka, EVENTS, group), generations(kafka, TRUTH, group)
            assert {event["source"] for event in seen.values()} == {"describe"}
            assert seen.keys() <= truth.keys(), "nothing is invented"
            same = [number for number in seen if seen[number].get("previous_generation") in seen]
            assert same or group == SHARED
            assert [facts(seen[each]) for each in same] == [facts(truth[each]) for each in same]
        types = {
            each["group_type"] for group in (*GROUPS, SHARED) for each in generations(kafka, EVENTS, group).values()
        }
        assert types == {GroupType.CONSUMER.value, GroupType.SHARE.value}
