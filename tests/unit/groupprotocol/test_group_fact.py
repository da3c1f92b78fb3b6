"""A record as one fact about its group, and the key bounds for skipping commits."""

from __future__ import annotations

import pytest

from rebalance_agent.groupprotocol.group_fact import (
    COMMIT_KEYS_END,
    COMMIT_KEYS_START,
    GROUP_FACT_KINDS,
    ClassicGroupFact,
    EpochGroupFact,
    group_fact,
)
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from rebalance_agent.groupprotocol.tables import GROUP_METADATA, OFFSET_COMMIT, RECORDS
from rebalance_agent.groupprotocol.tables import consumer_groups as consumer
from rebalance_agent.model.epoch_groups import GroupEpoch, MemberTarget
from rebalance_agent.model.group import GroupType

CLASSIC_KEY = GROUP_METADATA.key.encode(2, {"group": "orders"})
EMPTY = {"protocol_type": "consumer", "generation": 7, "protocol": None, "leader": None, "members": []}


@pytest.mark.parametrize("version", range(100))
def test_only_keys_of_commits_lie_between_the_bounds(version):
    key = version.to_bytes(2, "big") + b"\0\1g"
    assert (COMMIT_KEYS_START <= key < COMMIT_KEYS_END) == (record_kind(key) == OFFSET_COMMIT.kind)


def test_a_classic_groups_record_is_its_snapshot_and_a_tombstone_its_deletion():
    fact = group_fact(decode_record(CLASSIC_KEY, GROUP_METADATA.value.encode(3, EMPTY)))
    assert (fact.group, fact.group_type, fact.value.generation) == ("orders", GroupType.CLASSIC, 7)
    assert not fact.deletes_group
    gone = group_fact(decode_record(CLASSIC_KEY, None))
    assert gone == ClassicGroupFact("orders", None)
    assert gone.deletes_group


def test_only_the_deletion_of_the_groups_own_record_deletes_a_group():
    table = consumer.CONSUMER_GROUP_METADATA
    key = table.key.encode(table.key.versions[0], {"group": "orders"})
    fact = group_fact(decode_record(key, None))
    assert fact == EpochGroupFact("orders", GroupType.CONSUMER, GroupEpoch, "", None)
    assert fact.deletes_group
    table = consumer.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER
    key = table.key.encode(table.key.versions[0], {"group": "orders", "member_id": "m"})
    fact = group_fact(decode_record(key, None))
    assert fact == EpochGroupFact("orders", GroupType.CONSUMER, MemberTarget, "m", None)
    assert not fact.deletes_group


def test_records_without_a_fact_about_rebalances_have_none():
    assert group_fact(decode_record(b"\0\x63", b"?")) is None
    assert group_fact(decode_record(CLASSIC_KEY, b"\0\x63?")) is None
    commit = OFFSET_COMMIT.key.encode(1, {"group": "orders", "topic": "t", "partition": 3})
    assert group_fact(decode_record(commit, None)) is None


def test_kinds_with_facts_have_a_fact_for_their_tombstones():
    for version, table in RECORDS.items():
        fields = {field.name: 0 if field.name == "partition" else "x" for field in table.key.fields}
        fact = group_fact(decode_record(table.key.encode(version, fields), None))
        assert (fact is not None) == (table.kind in GROUP_FACT_KINDS)
