from rebalance_agent.audit.expected.compaction import CompactedRange


def test_without_a_gap_nothing_was_compacted():
    cleaned = CompactedRange()
    assert [cleaned.ends(0, key) for key in (b"a", b"b", b"a")] == [False, False, False]
    assert not cleaned.may_be_cleaned(0)


def test_records_after_a_gap_may_be_compacted_until_a_key_repeats():
    cleaned = CompactedRange()
    cleaned.ends(0, b"a")
    cleaned.gap(0)
    assert [cleaned.ends(0, key) for key in (b"b", b"c")] == [False, False]
    assert cleaned.may_be_cleaned(0)
    assert cleaned.ends(0, b"a")  # including records before the gap
    assert not cleaned.may_be_cleaned(0)
    assert not cleaned.ends(0, b"a")


def test_each_partition_is_compacted_separately():
    cleaned = CompactedRange()
    cleaned.gap(1)
    assert (cleaned.may_be_cleaned(0), cleaned.may_be_cleaned(1)) == (False, True)
    cleaned.ends(0, b"a")
    assert not cleaned.ends(1, b"a")
