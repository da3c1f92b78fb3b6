"""The sentence on the catch-up time of moved partitions."""

import pytest

from rebalance_agent.tracking.lag.catch_up import CatchUp
from rebalance_agent.ui.sentences.catch_up_text import catch_up_text


@pytest.mark.parametrize(
    ("catch_up", "text"),
    [
        (CatchUp(), ""),
        (CatchUp(0, 6, 0.0, 0.0), ""),
        (CatchUp(3, 6, 0.0, 0.0), "3 of 6 moved partitions are catching up"),
        (CatchUp(1, 1, 45.0, 45.0), "1 of 1 moved partition is catching up, for 45.0 s or more"),
        (CatchUp(0, 1, 45.0, 45.0), "In the last catch-up, 1 moved partition was behind for 45.0 s or more"),
        (
            CatchUp(0, 1_200, 90.0, 9_000.0),
            "In the last catch-up, 1,200 moved partitions were behind, the slowest for 1 min 30 s or more",
        ),
    ],
)
def test_the_sentence_has_the_time_and_the_partitions(catch_up, text):
    assert catch_up_text(catch_up) == text
