"""Keys and offsets of commits that are read without full decoding equal those of the tables."""

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.groupprotocol.commit_key import commit_key, commit_keys, committed_offset, group_of_key
from rebalance_agent.groupprotocol.records import decode_record
from support.kafka.commits import commit_value

NAMES = st.text(min_size=1, max_size=249)


@given(NAMES, NAMES, st.integers(0, 2**31 - 1))
def test_a_decoded_key_equals_the_encoded_one(group, topic, partition):
    record = decode_record(commit_key(group, topic, partition), None)
    assert (record.group, record.key["topic"], record.key["partition"]) == (group, topic, partition)


@given(NAMES, st.lists(st.tuples(st.sampled_from(["t", "u", "é"]), st.integers(0, 2**31 - 1))))
def test_keys_of_many_partitions_equal_single_keys(group, partitions):
    assert list(commit_keys(group, partitions)) == [commit_key(group, *partition) for partition in partitions]


@given(NAMES, NAMES, st.integers(0, 2**31 - 1))
def test_the_group_of_a_key_is_read_from_it(group, topic, partition):
    assert group_of_key(commit_key(group, topic, partition)) == group.encode()


@given(st.binary(max_size=40))
def test_the_group_of_a_malformed_key_is_a_part_of_its_bytes(key):
    assert group_of_key(key) in key[4:]


@given(st.integers(-1, 2**63 - 1))
def test_an_offset_is_read_from_a_value(offset):
    assert committed_offset(commit_value(offset)) == offset


def test_a_truncated_value_has_no_offset():
    assert committed_offset(b"\0\1\0") == -1
