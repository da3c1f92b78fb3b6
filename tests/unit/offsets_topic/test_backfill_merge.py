from __future__ import annotations

from rebalance_agent.offsets_topic.backfill_merge import BackfillMerge


def test_a_backfill_returns_only_the_last_record_of_a_group_at_its_end():
    backfill = BackfillMerge({0: 3})
    for offset, group in enumerate(("a", "b", "a")):
        backfill.add(0, offset, group, (group, offset))
        assert backfill.reached(0, offset) == []
    assert sorted(backfill.reached(0, 3)) == [("a", 2), ("b", 1)]
    assert backfill.done


def test_a_group_seen_by_the_tail_is_omitted():
    backfill = BackfillMerge({0: 10})
    backfill.add(0, 1, "before", 1)
    backfill.seen_live(0, "before")
    backfill.seen_live(0, "after")
    backfill.add(0, 2, "after", 2)
    backfill.add(0, 3, "other", 3)
    assert backfill.reached(0, 10) == [3]


def test_groups_with_the_same_name_in_another_partition_are_separate():
    backfill = BackfillMerge({0: 1, 1: 1})
    backfill.seen_live(1, "a")
    backfill.add(0, 0, "a", "old")
    assert backfill.reached(0, 1) == ["old"]


def test_records_beyond_the_recorded_end_belong_to_the_tail():
    backfill = BackfillMerge({0: 2})
    backfill.add(0, 1, "a", "old")
    backfill.add(0, 2, "a", "the tail's")
    assert backfill.reached(0, 3) == ["old"]


def test_the_end_is_reached_by_position_even_if_its_records_were_compacted_away():
    backfill = BackfillMerge({0: 1_000})
    backfill.add(0, 5, "a", "only one left")
    assert backfill.reached(0, 6) == []
    assert not backfill.done
    assert backfill.reached(0, 1_000) == ["only one left"]
    assert backfill.done


def test_empty_partitions_and_those_read_from_their_beginning_are_done_at_once():
    assert BackfillMerge({0: 0, 1: -2}).done
    assert BackfillMerge({0: 0, 1: 5}).pending == {1}


def test_records_after_the_end_of_a_partition_change_nothing():
    backfill = BackfillMerge({0: 1})
    backfill.reached(0, 1)
    backfill.add(0, 0, "a", "late")
    backfill.seen_live(0, "a")
    assert backfill.reached(0, 9) == []
