"""Our tables beside Kafka's own generated classes, in this process: the same bytes, and the same reading of them."""

from __future__ import annotations

import functools

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.groupprotocol.tables import RECORDS
from support.kafkas_java import KafkasMessage, KafkasSerde, kafka_form
from support.messages import MESSAGES, fields_of, messages, mutated

pytestmark = pytest.mark.integration

KEYS = {table.key.name for table in RECORDS.values()}
NOT_KEYS = tuple(message for message in MESSAGES if message.name not in KEYS)
SLOW = settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])

kafkas = functools.cache(KafkasMessage)


@functools.cache
def serde():
    return KafkasSerde()


@st.composite
def records(draw):
    """A record's table and versions, with its key and value encoded by us."""
    # Kafka 4.3 knows key version 0 with value version 0 only; older brokers wrote the others, so we read them.
    key_version = draw(st.sampled_from([version for version in RECORDS if version != 0]))
    table = RECORDS[key_version]
    version = draw(st.sampled_from(table.value.versions))
    key, value = draw(fields_of(table.key.fields, key_version)), draw(fields_of(table.value.fields, version))
    return table, key_version, version, table.key.encode(key_version, key), table.value.encode(version, value)


@SLOW
@given(messages(NOT_KEYS))
def test_kafka_and_we_write_the_same_bytes_and_read_each_others(drawn):
    message, version, fields = drawn
    theirs = kafkas(message.name).encode(version, kafka_form(message, version, fields))
    ours = message.encode(version, fields)
    assert ours == theirs
    assert kafka_form(message, version, message.decode(theirs).fields) == kafkas(message.name).decode(ours)


@SLOW
@given(records())
def test_a_record_is_to_us_what_it_is_to_the_coordinator(drawn):
    table, key_version, version, key, value = drawn
    record = decode_record(key, value)
    assert (
        kafka_form(table.key, key_version, record.key),
        record.value_version,
        kafka_form(table.value, version, record.value),
    ) == serde().decode(key, value)


@SLOW
@given(records(), st.data())
def test_what_we_read_in_damaged_bytes_is_what_the_coordinator_reads(drawn, data):
    table, key_version, _, key, value = drawn
    damaged = data.draw(mutated(value))
    try:
        record = decode_record(key, damaged)
    except DecodeError:
        assume(False)
    theirs = serde().decode(key, damaged)
    if record.unknown:
        assert theirs is None
    else:
        fields = kafka_form(table.value, record.value_version, record.value)
        assert (kafka_form(table.key, key_version, record.key), record.value_version, fields) == theirs
