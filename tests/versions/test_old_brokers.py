"""Groups on brokers older than those of the other tests: the observer shows what their clients see."""

from __future__ import annotations

import json
import struct
import uuid
from contextlib import closing

import pytest

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.partition_ranges import PartitionRanges
from rebalance_agent.polls.settings.dead_letter_queues import DeadLetterQueues
from rebalance_agent.testing import EmbeddedKafka
from rebalance_agent.testing.kafka.kafka_versions import VERSIONS, WITH_TOOLS
from support.gateway.running import Plain
from support.observer.fakes import fake_context
from support.observer.observing import create_topic, events, eventually, observing
from support.observer.views import full_view

pytestmark = pytest.mark.integration

OLD = [version for version in VERSIONS if version not in WITH_TOOLS]
CLASSIC = {}
COORDINATOR_ASSIGNS = {"group.protocol": "consumer", "heartbeat.interval.ms": None, "session.timeout.ms": None}
PROTOCOLS = {"classic": CLASSIC, "consumer": COORDINATOR_ASSIGNS}
WITHOUT_EPOCHS = "3.9"
"""Kafka 3.9 has groups of KIP-848 as a preview, in another format."""

UNREAD = (
    ("rebalance_agent_unknown_records_total", {"unknown": "key_version"}),
    ("rebalance_agent_unknown_records_total", {"unknown": "value_version"}),
    ("rebalance_agent_unknown_tagged_fields_total", {}),
)
_GENERATION_AT = len(b"CGMDv2:")


@pytest.fixture(scope="module", params=OLD)
def broker(request):
    properties = {"group.consumer.heartbeat.interval.ms": "500", "group.consumer.min.heartbeat.interval.ms": "500"}
    with EmbeddedKafka(version=request.param, properties=properties) as kafka:
        yield kafka


def seen_by(members):
    """What each client knows of itself: member id -> generation or epoch, and partitions."""
    return {
        each.consumer.memberid(): (
            struct.unpack_from("=i", bytes(each.consumer.consumer_group_metadata()), _GENERATION_AT)[0],
            sorted(each.owned),
        )
        for each in members
    }


def shown(watched, group):
    """The same by the observer's API."""
    status, text = watched.get(f"/api/v1/groups/{group}")
    if status != 200:
        return None
    detail = json.loads(text)
    if detail["summary"]["state"] != "Stable":
        return None
    return {
        member["member_id"]: (
            detail["summary"]["generation"],
            sorted((topic, number) for topic, text in member["assigned"].items() for number in PartitionRanges(text)),
        )
        for member in detail["members"]
    }


def test_brokers_without_dead_letter_queues_show_none(broker, caplog):
    cluster = Cluster({"bootstrap.servers": broker.bootstrap_servers})
    context = fake_context(cluster)
    DeadLetterQueues(context, lambda: [full_view("shared", GroupType.SHARE)])()
    observed = [each.queues for each in context.inbox.take(10, 0)]
    if broker.version.startswith(WITHOUT_EPOCHS):  # it has no settings of groups
        assert (observed, cluster.access.reads_settings_of_every_group()) == ([], None)
    else:
        assert (observed, cluster.access.reads_settings_of_every_group()) == ([{"shared": None}], True)
        assert "dead letter queues" not in caplog.text


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_group_is_shown_as_its_clients_see_it(broker, protocol):
    if protocol == "consumer" and broker.version.startswith(WITHOUT_EPOCHS):
        pytest.skip("no groups of KIP-848")
    unique = uuid.uuid4().hex[:8]
    topic, group, published = f"topic-{unique}", f"group-{unique}", f"events-{unique}"
    bootstrap = broker.bootstrap_servers
    create_topic(bootstrap, topic, 5)

    def same(*members):
        assert {number for each in members for _, number in each.owned} == set(range(5))
        return shown(watched, group) == seen_by(members)

    with observing(bootstrap, events_topic=published, settle_seconds=0.2) as watched:
        with closing(Plain(bootstrap, group, topic, **PROTOCOLS[protocol])) as one:
            eventually(lambda: len(one.owned) == 5 and same(one))
            with closing(Plain(bootstrap, group, topic, **PROTOCOLS[protocol])) as two:
                eventually(lambda: {len(one.owned), len(two.owned)} == {2, 3} and same(one, two))
            eventually(lambda: len(one.owned) == 5 and same(one))
            eventually(lambda: triggers(bootstrap, published, group)[-1:] == ["member_gone"])
            # Between the start and the join, the coordinator may notice that the new topic has partitions.
            started, *_, joined, gone = triggers(bootstrap, published, group)
            assert (started, joined, gone) == ("group_started", "member_joined", "member_gone")
        assert [watched.metric(name, **labels) for name, labels in UNREAD] == [0, 0, 0]


def triggers(bootstrap, published, group):
    """The triggers of the group's rebalances."""
    return [
        each["trigger"]
        for each in events(bootstrap, published, group=group)
        if each["kind"] == "generation" and each["closes_episode"] and each["revision"] == 0
    ]
