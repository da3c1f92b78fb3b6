from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.offsets_topic.progress import STUCK_S, ReadingProgress


def looks(*looks):
    """The result of each check; a check: (seconds, positions, ends)."""
    progress = ReadingProgress()
    return [progress.stuck(positions, ends, now) for now, positions, ends in looks]


def test_a_partition_with_unread_new_records_is_stuck():
    ends = {0: 9, 1: 9}
    assert looks((0, {0: 5, 1: 9}, ends), (STUCK_S - 1, {0: 5, 1: 9}, ends), (STUCK_S, {0: 5, 1: 9}, ends)) == [
        [],
        [],
        [0],
    ]


def test_a_slowly_read_partition_is_not_stuck():
    assert looks(*((at, {0: at}, {0: 1_000}) for at in range(0, 200, 20))) == [[]] * 10


def test_a_partition_at_its_end_is_not_stuck_and_its_time_starts_with_the_next_record():
    ends = ({0: 5}, {0: 6}, {0: 7}, {0: 8})
    assert looks(*((at, {0: 5}, end) for at, end in zip((0, 100, 129, 130), ends, strict=True))) == [[], [], [], [0]]


def test_a_partition_of_another_replica_is_not_stuck():
    assert looks((0, {0: 5}, {0: 9, 1: 9}), (100, {0: 9}, {0: 9, 1: 9})) == [[], []]


def test_time_without_responses_does_not_count():
    progress = ReadingProgress()
    assert progress.stuck({0: 5}, {0: 9}, 0) == []
    progress.reset()
    assert progress.stuck({0: 5}, {0: 9}, 100) == []
    assert progress.stuck({0: 5}, {0: 9}, 100 + STUCK_S) == [0]


@given(st.lists(st.tuples(st.floats(0, 20), st.integers(0, 3)), max_size=30))
def test_a_partition_with_progress_in_time_is_never_stuck(steps):
    progress, now, position = ReadingProgress(), 0.0, 0
    for seconds, read in steps:
        now += seconds
        position += read + 1
        assert progress.stuck({0: position}, {0: 10_000}, now) == []
