"""A hundred thousand generated and damaged events: Spark's expressions and the codec agree on every one."""

from __future__ import annotations

import random

import pytest

from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from support.pipeline.damaged_lines import damaged_lines
from support.pipeline.event_models import MODELS
from support.pipeline.native_events import compare
from support.pipeline.pipelines import SHORT_LIVED

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_800),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

COUNT, BATCH = 100_000, 10_000
EACH_MIN = 100
"""Minimum number of events that are rejected for each reason."""


def test_spark_and_the_codec_agree_on_a_hundred_thousand_events():
    seed = random.randrange(2**32)
    print("seed", seed)
    lines, native, others, reasons = damaged_lines(MODELS, seed=seed, count=COUNT), 0, 0, {}
    settings = SessionSettings(master="local[2]", driver_memory="2g", partitions=2, more=SHORT_LIVED)
    with open_session(settings, "tests") as spark:
        for _ in range(COUNT // BATCH):
            found = compare(spark, [next(lines) for _ in range(BATCH)])
            native, others = native + found[0], others + found[1]
            reasons = {rule: reasons.get(rule, 0) + found[2][rule] for rule in {**reasons, **found[2]}}
    print(native, others, sorted(reasons.items(), key=lambda item: item[1]))
    assert native > COUNT / 8
    assert others > COUNT / 8
    assert {rule: number for rule, number in reasons.items() if number < EACH_MIN} == {}
