"""Encoded values decode to themselves, and other bytes raise nothing but ``DecodeError``."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.classic_group import classic_group
from rebalance_agent.groupprotocol.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_agent.groupprotocol.record_json import record_json
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from rebalance_agent.groupprotocol.sticky_fast_decoder import decode_fast
from rebalance_agent.groupprotocol.user_data import (
    PRIORITY_SETTING,
    WEIGHT_SETTING,
    decode_priority,
    decode_sticky,
    decode_weighted,
    encode_priority,
    encode_sticky,
    encode_weighted,
)
from rebalance_agent.groupprotocol.wire.message import Message
from rebalance_agent.groupprotocol.wire.primitives import Array
from rebalance_agent.groupprotocol.wire.schema import Struct
from rebalance_agent.model.partitions import PARTITION_MAX, topic_partitions
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription, MemberUserData
from support.examples import examples
from support.kafka.messages import MESSAGES, messages, mutated
from support.memory import traced_memory

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "kafkas_own_bytes.json").read_text(encoding="utf-8"))
RECORDS = [(base64.b64decode(row["key"]), base64.b64decode(row["value"])) for row in GOLDEN["records"]]
PAYLOADS = [
    base64.b64decode(data)
    for data in (
        *GOLDEN["subscriptions"].values(),
        *GOLDEN["assignments"].values(),
        GOLDEN["sticky_user_data"],
        base64.b64encode(encode_weighted(MemberUserData({WEIGHT_SETTING: 9}, {"t": (1, 2)}))),
    )
]
PAYLOAD_DECODERS = (decode_subscription, decode_assignment, decode_sticky, decode_weighted, decode_priority)

topics = st.text(st.characters(codec="utf-8"), max_size=8)
int32s = st.integers(-(2**31), 2**31 - 1)
partitions = st.lists(st.tuples(topics, st.integers(0, PARTITION_MAX - 1)), max_size=12).map(topic_partitions)
user_data = st.none() | st.binary(max_size=12)


def is_read_or_refused(key, value):
    with contextlib.suppress(DecodeError):
        record = decode_record(key, value)
        classic_group(record)
        json.dumps(record_json(record, 5))
        assert record.kind == record_kind(key)


@given(messages())
def test_a_decoded_message_equals_the_encoded_one(drawn):
    message, version, fields = drawn
    decoded = message.decode(message.encode(version, fields))
    assert (decoded.version, decoded.unknown_tags) == (version, 0)
    assert message.encode(version, decoded.fields) == message.encode(version, fields)
    assert _lists(decoded.fields) == fields


@given(messages(), st.data())
def test_the_compiled_reader_agrees_with_the_tables(drawn, data):
    message, version, fields = drawn
    written = message.encode(version, fields)
    assert outcome(message, written) == outcome(message, written, straight=False)
    damaged = data.draw(mutated(written))
    assert outcome(message, damaged) == outcome(message, damaged, straight=False)


def outcome(message, data, *, straight=True):
    giving_up = mock.patch.object(Message, "_decode_compiled", side_effect=IndexError)
    with contextlib.nullcontext() if straight else giving_up:
        try:
            return message.decode(data)
        except DecodeError as error:
            return str(error)


@given(messages())
def test_only_tagged_fields_are_left_to_the_tables(drawn):
    message, version, fields = drawn
    plain = message.encode(version, untagged(message.fields, fields))
    with mock.patch.object(Message, "_decode_by_table", side_effect=AssertionError):
        assert message.decode(plain).version == version


def untagged(table, values):
    """The values of a struct without those of its tagged fields, at every depth."""

    def plain(type_, value):
        if isinstance(type_, Array) and value is not None:
            return [plain(type_.of, item) for item in value]
        return untagged(type_.fields, value) if isinstance(type_, Struct) and value is not None else value

    return {
        field.name: plain(field.type, values[field.name])
        for field in table
        if field.name in values and field.tag is None
    }


def _lists(value):
    if isinstance(value, Mapping):  # the default of a tagged struct is immutable
        return {name: _lists(item) for name, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, list | tuple) else value


@given(st.tuples(st.lists(topics, max_size=4).map(tuple), user_data, partitions, int32s, st.none() | topics))
def test_decoded_subscriptions_and_assignments_equal_the_encoded_ones(fields):
    subscription = ConsumerSubscription(3, *fields)
    assert decode_subscription(encode_subscription(subscription)) == subscription
    assignment = ConsumerAssignment(1, subscription.owned_partitions, subscription.user_data)
    assert decode_assignment(encode_assignment(assignment)) == assignment


@given(st.integers(1, 2**31 - 1), partitions)
def test_decoded_user_data_equals_the_encoded_one(weight, owned):
    weighted = MemberUserData({WEIGHT_SETTING: weight}, owned)
    assert decode_weighted(encode_weighted(weighted)) == weighted
    priority = MemberUserData({PRIORITY_SETTING: -weight})
    assert decode_priority(encode_priority(priority)) == priority


@given(st.binary(max_size=200), st.none() | st.binary(max_size=200))
def test_any_bytes_are_decoded_or_refused(key, value):
    is_read_or_refused(key, value)


@given(st.sampled_from([b"\0\0\0\1g\0\1t\0\0\0\0", b"\0\2\0\1g"]), st.integers(0, 5), st.binary(max_size=200))
def test_any_value_of_a_valid_key_is_read_or_refused(key, version, rest):
    is_read_or_refused(key, version.to_bytes(2, "big") + rest)


@given(st.sampled_from(RECORDS), st.data())
def test_a_damaged_record_of_kafka_is_read_or_refused(record, data):
    key, value = record
    is_read_or_refused(data.draw(mutated(key)), data.draw(mutated(value)))


@given(st.sampled_from(PAYLOADS), st.data())
def test_damaged_bytes_of_members_are_read_or_refused(payload, data):
    damaged = data.draw(mutated(payload) | st.binary(max_size=60))
    for decode in PAYLOAD_DECODERS:
        with contextlib.suppress(DecodeError):
            decode(damaged)


@given(st.sampled_from(MESSAGES), st.data())
def test_every_table_reads_or_refuses_any_bytes(message, data):
    version = data.draw(st.sampled_from(message.versions))
    with contextlib.suppress(DecodeError):
        message.decode(version.to_bytes(2, "big") + data.draw(st.binary(max_size=200)))


@example(b"\x7f\xff\xff\xff")
@example(b"\0\0\0\x10")
@given(st.binary(min_size=4, max_size=4))
def test_a_claimed_length_never_costs_more_than_the_present_bytes(claim):
    for data in (b"\0\0" + claim, b"\0\1\0\0\0\0" + claim, b"\0\0\0\0\0\0" + claim + bytes(40)):
        with traced_memory() as used:
            with contextlib.suppress(DecodeError):
                decode_subscription(data)
            peak = used()[1]
        assert peak < 50_000


@settings(max_examples=examples())
@given(
    st.dictionaries(st.text(max_size=3), st.lists(st.integers(-2, 5), max_size=4).map(tuple), max_size=4),
    st.integers(-1, 9),
    st.data(),
)
def test_the_fast_decoder_agrees_with_the_tables(owned, generation, data):
    written = encode_sticky(MemberUserData(owned=owned, generation=generation))
    damaged = data.draw(st.one_of(st.just(written), st.just(written[:-4]), mutated(written)))
    plainly = decode_fast(damaged)
    if plainly is not None:
        with mock.patch("rebalance_agent.groupprotocol.user_data.decode_fast", return_value=None):
            assert decode_sticky(damaged) == plainly
    elif damaged == written:
        in_order = all(numbers and list(numbers) == sorted({*numbers} - {-1, -2}) for numbers in owned.values())
        assert not in_order or "" in owned or list(owned) != sorted(owned)
