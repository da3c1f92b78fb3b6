"""Parsing of confluent-kafka's group metadata and librdkafka's statistics; and behaviour without a broker."""

from __future__ import annotations

import json
import struct

import confluent_kafka
import pytest

from rebalance_agent.clients.confluent_kafka import Consumer
from rebalance_agent.clients.confluent_kafka.group_position import generation_in, membership_of
from rebalance_agent.clients.confluent_kafka.statistics import SECTION_MAX, Statistics
from rebalance_agent.instrumentation import Membership
from rebalance_agent.model.events import Callback
from support.observer.recorded_instrumentation import RecordedInstrumentation

METADATA = b"CGMDv2:" + struct.pack("=i", 7) + b"group\0member\0\1"


class Asked:
    def __init__(self, member_id, metadata):
        self.member_id, self.metadata = member_id, metadata

    def memberid(self):
        return self.member_id

    def consumer_group_metadata(self):
        return self.metadata


def test_the_generation_is_read():
    assert generation_in(METADATA, "member") == 7
    assert membership_of(Asked("member", METADATA), "i") == Membership(7, "member", "i")


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        object(),
        b"",
        b"CGMDv2:",
        b"CGMDv2:\0\0",
        METADATA.replace(b"v2", b"v3"),
        METADATA.replace(b"member", b"other"),
        METADATA[:14],
    ],
)
def test_a_member_with_metadata_of_another_format_is_joined_without_a_generation(metadata):
    assert generation_in(metadata, "member") == -1
    membership = membership_of(Asked("member", metadata), None)
    assert (membership.generation, membership.member_id, membership.joined) == (-1, "member", True)


def test_a_consumer_without_a_member_id_has_no_membership():
    # librdkafka keeps the last generation after leaving.
    assert membership_of(Asked(None, METADATA), "i") == Membership()


def statistics(count, reason="max.poll.interval.ms exceeded", **more):
    cgrp = {"state": "up", "join_state": "steady", "rebalance_cnt": count, "rebalance_reason": reason}
    return json.dumps({"name": '"cgrp": {', "topics": {}, "cgrp": cgrp, "tx": 1, **more}, separators=(",", ": "))


def test_a_reason_is_reported_once_for_each_rebalance():
    reasons = []
    reader = Statistics(reasons.append)
    for text in (statistics(0), statistics(1, "a"), statistics(1, "a"), statistics(3, "b")):
        reader.read(text)
    assert reasons == ["a", "b"]
    assert reader.unreadable == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"cgrp":',
        '{"cgrp": []}',
        '{"cgrp": {"rebalance_cnt": "many", "rebalance_reason": ""}}',
        '{"cgrp": {"rebalance_cnt": 1}}',
        '{"cgrp": ' + "[" * SECTION_MAX,
        statistics(1, "x" * SECTION_MAX),
        None,
    ],
)
def test_unreadable_statistics_are_counted_and_logged_once(text, caplog):
    reader = Statistics(pytest.fail)
    with caplog.at_level("INFO", "rebalance_agent"):
        reader.read(text)
        reader.read(text)
    assert reader.unreadable == 2
    assert len(caplog.records) == 1


class TP:
    topic, partition = "t", 1


def test_a_reason_sends_the_event_again_with_a_revision():
    seen = RecordedInstrumentation()
    seen.hooks.listener().on_partitions_revoked([TP])
    seen.hooks.explained("x" * 2_000)
    seen.hooks.explained("a second one")
    first, again = seen.events
    assert (first.reason, first.revision) == (None, 0)
    assert (again.reason, again.revision, again.event_id) == ("x" * 1_000, 1, first.event_id)
    assert (again.process, again.sequence, again.partitions) == (first.process, first.sequence, first.partitions)


def test_a_reason_of_lost_partitions_is_not_used_for_a_revocation():
    seen = RecordedInstrumentation()
    seen.hooks.listener().on_partitions_revoked([TP])
    seen.hooks.explained("old", (Callback.LOST,))
    seen.hooks.listener().on_partitions_lost([TP])
    seen.hooks.explained("", (Callback.LOST,))
    seen.hooks.listener().on_partitions_lost([TP])
    seen.hooks.listener().on_partitions_assigned([TP])
    seen.hooks.explained("new", (Callback.LOST,))
    assert [(event.callback, event.reason) for event in seen.events if event.revision] == [(Callback.LOST, "new")]


CONFIG = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}


def test_the_applications_statistics_settings_are_unchanged():
    theirs = []
    for settings, called in (
        ({"stats_cb": theirs.append}, False),
        ({"stats_cb": theirs.append, "statistics.interval.ms": 0}, False),
        ({"stats_cb": theirs.append, "statistics.interval.ms": 10}, True),
    ):
        theirs.clear()
        with Consumer({**CONFIG, **settings}, events_url="") as consumer:
            for _ in range(20):
                consumer.poll(0.01)
        assert bool(theirs) is called


def test_the_applications_configuration_is_not_changed():
    settings = {**CONFIG, "statistics.interval.ms": 1_000}
    before = dict(settings)
    with Consumer(settings, **{"client.id": "me"}, events_url="") as consumer:
        assert isinstance(consumer, confluent_kafka.Consumer)
    assert settings == before


def test_confluent_kafka_itself_refuses_wrong_settings():
    with pytest.raises(confluent_kafka.KafkaException, match="nosuch"):
        Consumer({**CONFIG, "nosuch": 1}, events_url="")
    with pytest.raises(ValueError, match=r"group\.id"):
        Consumer({}, events_url="")
    with pytest.raises(TypeError, match="callable"):
        Consumer({**CONFIG, "statistics.interval.ms": 1, "stats_cb": 1}, events_url="")
    with Consumer(CONFIG, events_url="") as consumer, pytest.raises(TypeError, match="on_revoke expects a callable"):
        consumer.subscribe(["t"], on_revoke=1)


def test_a_closed_consumer_responds_as_without_instrumentation(caplog):
    consumer = Consumer(CONFIG, events_url="")
    consumer.close()
    consumer.close()
    with pytest.raises(RuntimeError, match="closed"):
        consumer.unsubscribe()
    assert "could not" not in caplog.text
