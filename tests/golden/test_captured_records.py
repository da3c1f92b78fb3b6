"""Real records of groups of all four types decode completely and encode to the same bytes.

``tests/peers`` reads the same records with Kafka's own classes.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from rebalance_agent.groupprotocol.consumer_protocol import ASSIGNMENT, SUBSCRIPTION
from rebalance_agent.groupprotocol.epoch_facts import EPOCH_FACTS
from rebalance_agent.groupprotocol.group_fact import group_fact
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.groupprotocol.tables import GROUP_METADATA, RECORDS
from rebalance_agent.groupprotocol.tables.consumer_groups import CONSUMER_GROUP_PARTITION_METADATA
from rebalance_agent.model.event_json import json_line
from rebalance_agent.tracking.observations import Backfilled, Tick
from rebalance_agent.tracking.tracker import Tracker
from support.kafka.captured import CAPTURED, EVERY_KIND, member_bytes
from support.tracker.tracking import closing, feed

NEVER_WRITTEN = CONSUMER_GROUP_PARTITION_METADATA.kind
"""Kinds of records that Kafka 4.1 and newer only delete."""

READ = [decode_record(*each) for each in CAPTURED]
ROWS = pytest.mark.parametrize("row", range(len(CAPTURED)))


def test_every_kind_of_record_and_its_tombstone_are_captured():
    found = defaultdict(set)
    for record in READ:
        found[record.kind].add("tombstone" if record.tombstone else "value")
    kinds = {table.kind for table in RECORDS.values()}
    assert found == {kind: {"tombstone"} if kind == NEVER_WRITTEN else {"tombstone", "value"} for kind in kinds}


def test_rare_records_are_captured():
    values = [(record.kind, record.value) for record in READ if record.value]
    of = lambda kind: [value for each, value in values if each == kind]  # noqa: E731
    members = of("consumer_group_member_metadata")
    assert any(value["subscribed_topic_regex"] for value in members)
    assert any(value["classic_member_metadata"] for value in members)
    assert any(value["server_assignor"] for value in members)
    assert {value["member_epoch"] for value in of("consumer_group_current_member_assignment")} >= {-2}
    assert {value["state"] for value in of("consumer_group_current_member_assignment")} == {0, 1, 2}
    assert {value["state"] for value in of("streams_group_current_member_assignment")} == {1, 2, 3}
    assert any(value["standby_tasks"] for value in of("streams_group_current_member_assignment"))
    static = [member for value in of("group_metadata") for member in value["members"] if member["group_instance_id"]]
    assert len({member["member_id"] for member in static}) > len({member["group_instance_id"] for member in static})
    commits = [record for record in READ if record.kind == "offset_commit" and record.value]
    assert {record.value["offset"] for record in commits if record.group == "transacted"} == {1, 2}


@ROWS
def test_records_have_no_unknown_fields_and_are_encoded_to_the_same_bytes(row):
    (key, value), record = CAPTURED[row], READ[row]
    assert (record.kind == "unknown", record.unknown, record.unknown_tags) == (False, False, 0)
    table = RECORDS[record.key_version]
    assert table.key.encode(record.key_version, record.key) == key
    if value is None:
        return
    assert table.value.encode(record.value_version, record.value) == value
    for message, found in zip((SUBSCRIPTION, ASSIGNMENT), member_bytes(record.value), strict=True):
        for data in found:
            decoded = message.decode(data)
            assert message.encode(decoded.version, decoded.fields) == data


@ROWS
def test_every_record_that_shows_a_rebalance_is_published(row):
    record = READ[row]
    fact = group_fact(record)
    assert (fact is not None and fact.value is not None) == (
        not record.tombstone and record.kind in {GROUP_METADATA.kind, *EPOCH_FACTS}
    )


def reported():
    """All events, as an observer sees the records being written."""
    records = (record for _, record in EVERY_KIND.log())
    begun = Backfilled(EVERY_KIND.start_ms, frozenset({0}))
    ticked = Tick(EVERY_KIND.end_ms + 60_000)
    return feed(Tracker("captured"), EVERY_KIND.topics, begun, *records, ticked, commits=False)


def test_groups_of_all_four_types_are_reported_as_played_and_reproducibly():
    events = reported()
    rebalances = defaultdict(list)
    for event in closing(events):
        rebalances[event.group, event.group_type.value].append((event.trigger.value, len(event.members)))
    start, join, leave, end = ("group_started", 1), ("member_joined", 2), ("member_gone", 1), ("member_gone", 0)
    usual = [start, join, leave, end]
    assert rebalances == {
        ("eager", "classic"): usual,
        ("cooperative", "classic"): usual,
        ('a "group"\nof \\ two lines', "classic"): [start, join, end],
        ("coordinated", "consumer"): [start, join, ("member_replaced", 3), ("member_gone", 2), ("member_left", 0)],
        ("java", "consumer"): [start, ("member_left", 0)],
        ("migrated", "classic"): [start, end],
        ("migrated", "consumer"): [join, leave, join],
        ("shared", "share"): usual,
        ("streams", "streams"): usual,
    }
    assert list(map(json_line, reported())) == list(map(json_line, events))
