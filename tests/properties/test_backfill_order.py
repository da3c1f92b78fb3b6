from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.offsets_topic.backfill_merge import BackfillMerge

LOGS = st.lists(st.lists(st.sampled_from("abc"), max_size=12), min_size=1, max_size=3)


@given(logs=LOGS, seed=st.integers(0, 2**32))
def test_in_any_order_the_newest_record_of_a_group_counts_and_no_state_goes_back(logs, seed):
    """The tail starts at recorded ends while the backfill reads up to them, interleaved in any order."""
    chance = random.Random(seed)
    ends = {partition: chance.randint(0, len(log)) for partition, log in enumerate(logs)}
    backfill, tail, old = BackfillMerge(ends), dict(ends), dict.fromkeys(ends, 0)
    applied: dict[tuple[int, str], list[int]] = {}

    def apply(partition, offset):
        applied.setdefault((partition, logs[partition][offset]), []).append(offset)

    while behind := [partition for partition, log in enumerate(logs) if tail[partition] < len(log)] + [
        ~partition for partition in sorted(backfill.pending)
    ]:
        step = chance.choice(behind)
        if step >= 0:
            apply(step, tail[step])
            backfill.seen_live(step, logs[step][tail[step]])
            tail[step] += 1
            continue
        partition = ~step
        backfill.add(partition, old[partition], logs[partition][old[partition]], old[partition])
        old[partition] += 1
        for found in backfill.reached(partition, old[partition]):
            apply(partition, found)

    for partition, log in enumerate(logs):
        for group in set(log):
            offsets = applied[partition, group]
            assert offsets[-1] == max(offset for offset, name in enumerate(log) if name == group)
            assert offsets == sorted(set(offsets))
            assert sum(offset < ends[partition] for offset in offsets) <= 1
