"""Our tables and Kafka's own generated classes write the same bytes and read the same values."""

from __future__ import annotations

import functools

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.consumer_protocol import ASSIGNMENT, SUBSCRIPTION
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.groupprotocol.tables import RECORDS
from support.examples import examples
from support.kafka.captured import CAPTURED, member_bytes
from support.kafka.kafkas_java import KafkasMessage, KafkasSerde, kafka_form
from support.kafka.messages import MESSAGES, fields_of, messages, mutated, of_the_future

pytestmark = pytest.mark.integration

KEYS = {table.key.name for table in RECORDS.values()}
NOT_KEYS = tuple(message for message in MESSAGES if message.name not in KEYS)
BY_NAME = {message.name: message for message in NOT_KEYS}
LATER = tuple(of_the_future(message) for message in NOT_KEYS if message._flexible_since is not None)
SLOW = settings(max_examples=examples())

kafkas = functools.cache(KafkasMessage)


@functools.cache
def serde():
    return KafkasSerde()


def as_kafka_says(record):
    """Our reading of a record in the form of the coordinator's."""
    table = RECORDS[record.key_version]
    value = None if record.value is None else kafka_form(table.value, record.value_version, record.value)
    return kafka_form(table.key, record.key_version, record.key), record.value_version, value


@st.composite
def records(draw):
    """A record's key and value, encoded by us."""
    # Kafka 4.3 supports key version 0 only with value version 0; older brokers wrote others, so we read them.
    key_version = draw(st.sampled_from([version for version in RECORDS if version != 0]))
    table = RECORDS[key_version]
    version = draw(st.sampled_from(table.value.versions))
    key, value = draw(fields_of(table.key.fields, key_version)), draw(fields_of(table.value.fields, version))
    return table.key.encode(key_version, key), table.value.encode(version, value)


@SLOW
@given(messages(NOT_KEYS))
def test_kafka_and_this_package_write_the_same_bytes_and_read_each_others(drawn):
    message, version, fields = drawn
    theirs = kafkas(message.name).encode(version, kafka_form(message, version, fields))
    ours = message.encode(version, fields)
    assert ours == theirs
    assert kafka_form(message, version, message.decode(theirs).fields) == kafkas(message.name).decode(ours)


@settings(SLOW, max_examples=examples())
@given(messages(LATER))
def test_fields_of_a_later_kafka_change_nothing_for_kafka_and_this_package(drawn):
    message, version, fields = drawn
    data = message.encode(version, fields)
    decoded = BY_NAME[message.name].decode(data)
    assert kafka_form(BY_NAME[message.name], version, decoded.fields) == kafkas(message.name).decode(data)


@SLOW
@given(records())
def test_a_record_is_read_like_in_the_coordinator(drawn):
    key, value = drawn
    assert as_kafka_says(decode_record(key, value)) == serde().decode(key, value)


@SLOW
@given(records(), st.data())
def test_damaged_bytes_are_read_like_in_the_coordinator(drawn, data):
    key, value = drawn
    damaged = data.draw(mutated(value))
    try:
        record = decode_record(key, damaged)
    except DecodeError:
        assume(False)
    assert serde().decode(key, damaged) == (None if record.unknown else as_kafka_says(record))


@pytest.mark.parametrize("row", range(len(CAPTURED)))
def test_a_record_of_a_real_group_is_read_like_in_the_coordinator(row):
    key, value = CAPTURED[row]
    record = decode_record(key, value)
    assert as_kafka_says(record) == serde().decode(key, value)
    table, fields = RECORDS[record.key_version], record.value
    if fields is None:
        return
    assert (
        kafkas(table.value.name).encode(record.value_version, kafka_form(table.value, record.value_version, fields))
        == value
    )
    for message, found in zip((SUBSCRIPTION, ASSIGNMENT), member_bytes(fields), strict=True):
        for data in found:
            decoded = message.decode(data)
            assert kafka_form(message, decoded.version, decoded.fields) == kafkas(message.name).decode(data)
