"""Messages of later Kafka versions: known fields are read as before, and unknown ones are skipped and counted."""

from __future__ import annotations

import functools

from hypothesis import assume, given
from hypothesis import strategies as st

from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.groupprotocol.tables import RECORDS
from rebalance_agent.groupprotocol.wire.message import Message
from support.kafka.messages import MESSAGES, messages, of_the_future, without_future

later = functools.cache(of_the_future)
FLEXIBLE: tuple[Message, ...] = tuple(later(message) for message in MESSAGES if message._flexible_since is not None)
TODAY = {message.name: message for message in MESSAGES}


@given(messages(FLEXIBLE))
def test_future_tagged_fields_are_skipped_and_counted_at_every_depth(drawn):
    message, version, fields = drawn
    known, sent = without_future(fields)
    today = TODAY[message.name]
    decoded = today.decode(message.encode(version, fields))
    assert (decoded.version, decoded.unknown_tags) == (version, sent)
    assert decoded.fields == today.decode(today.encode(version, known)).fields


@given(messages(FLEXIBLE), st.integers(1, 30_000))
def test_a_future_version_is_no_error_with_any_content(drawn, ahead):
    message, version, fields = drawn
    data = message.encode(version, fields)
    beyond = TODAY[message.name].versions[-1] + ahead
    decoded = TODAY[message.name].decode(beyond.to_bytes(2, "big") + data[2:])
    assert (decoded.version, decoded.fields, decoded.unknown_tags) == (beyond, None, 0)


@given(st.integers(-(2**15), 2**15 - 1), st.binary(max_size=60), st.none() | st.binary(max_size=60))
def test_a_future_kind_of_record_is_no_error_with_any_content(key_version, rest, value):
    assume(key_version not in RECORDS)
    record = decode_record(key_version.to_bytes(2, "big", signed=True) + rest, value)
    assert (record.key_version, record.unknown, record.tombstone, record.group) == (key_version, True, False, "")
