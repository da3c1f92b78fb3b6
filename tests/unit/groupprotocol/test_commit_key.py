"""Keys and offsets of commits that are read without full decoding equal those of the tables."""

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.groupprotocol.commit_key import commit_key, committed_offset, partition_key, split_commit_key
from rebalance_agent.groupprotocol.records import decode_record
from support.kafka.commits import commit_value

NAMES = st.text(min_size=1, max_size=249)


@given(NAMES, NAMES, st.integers(0, 2**31 - 1))
def test_a_key_decodes_to_what_it_was_made_of(group, topic, partition):
    record = decode_record(commit_key(group, topic, partition), None)
    assert (record.group, record.key["topic"], record.key["partition"]) == (group, topic, partition)


@given(NAMES, NAMES, st.integers(0, 2**31 - 1))
def test_a_key_is_split_after_its_group(group, topic, partition):
    assert split_commit_key(commit_key(group, topic, partition)) == (group.encode(), partition_key(topic, partition))


@given(st.binary(max_size=40))
def test_a_malformed_key_is_split_somewhere(key):
    group, rest = split_commit_key(key)
    assert len(group) + len(rest) == max(0, len(key) - 4)


@given(st.integers(-1, 2**63 - 1))
def test_an_offset_is_read_from_a_value(offset):
    assert committed_offset(commit_value(offset)) == offset


def test_a_value_that_is_too_short_has_no_offset():
    assert committed_offset(b"\0\1\0") == -1
