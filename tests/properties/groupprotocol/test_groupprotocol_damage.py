"""Every real record, cut and changed at every byte: both readers agree, with bounded cost."""

from __future__ import annotations

import contextlib
import tracemalloc
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.groupprotocol.tables import RECORDS
from rebalance_agent.groupprotocol.wire.message import Message
from support.kafka.captured import CAPTURED
from support.kafka.messages import mutated

VALUES = tuple((key, value) for key, value in CAPTURED if value is not None)
LONGEST = {key[1]: (key, value) for key, value in sorted(VALUES, key=lambda pair: len(pair[1]))}
"""The longest record of each kind."""

CLAIMS = (b"\x7f\xff\xff\xff", b"\x00\xff\xff\xff", b"\xff\xff\xff\xff\x0f")
"""Lengths and counts around 2**31, as numbers and as varints."""

PEAK_MAX_BYTES = 100_000
"""Bytes: many times the memory of the largest record, and a ten-thousandth of the claimed length."""


def cut(data):
    return [data[:size] for size in range(len(data))]


def flipped(data):
    return [data[:at] + bytes([byte ^ 1 << at % 8]) + data[at + 1 :] for at, byte in enumerate(data)]


def claiming(data):
    return [data[:at] + claim + data[at + len(claim) :] for at in range(2, len(data)) for claim in CLAIMS]


def read(key, value):
    """The result; any exception except ours fails the test."""
    try:
        return decode_record(key, value)
    except DecodeError as error:
        return str(error)


@pytest.mark.parametrize("damaged", [cut, flipped])
@pytest.mark.parametrize("version", RECORDS)
def test_damaged_records_are_read_or_refused_equally_by_both_readers(version, damaged):
    mine = [(key, value) for key, value in VALUES if key[1] == version]
    records = [(each, value) for key, value in mine for each in damaged(key)]
    records += [(key, each) for key, value in mine for each in damaged(value)]
    straight = [read(*each) for each in records]
    with mock.patch.object(Message, "_decode_compiled", side_effect=IndexError):
        assert straight == [read(*each) for each in records]
    assert not mine or any(isinstance(each, str) for each in straight)


@given(st.sampled_from(VALUES), st.data())
def test_records_with_several_damages_are_read_equally_by_both_readers(record, data):
    key, value = data.draw(mutated(record[0])), data.draw(mutated(record[1]))
    straight = read(key, value)
    with mock.patch.object(Message, "_decode_compiled", side_effect=IndexError):
        assert straight == read(key, value)


def test_a_claimed_length_costs_no_memory_in_any_place():
    tracemalloc.start()
    with contextlib.ExitStack() as stack:
        stack.callback(tracemalloc.stop)
        for key, value in LONGEST.values():
            for each in [*((key, damaged) for damaged in claiming(value)), *((each, value) for each in claiming(key))]:
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
                read(*each)
                assert tracemalloc.get_traced_memory()[1] - before < PEAK_MAX_BYTES
