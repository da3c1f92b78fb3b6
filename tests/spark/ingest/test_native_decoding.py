"""Spark's expressions decode usual events as the codec does, and leave it all others."""

from __future__ import annotations

import copy
import random
import re

from rebalance_agent.pipeline.ingest.event_rows import EVENT_BYTES_MAX, event_row
from rebalance_agent.pipeline.ingest.native_decoding import decoded
from support.pipeline.damaged_lines import FORMS, compact, damaged_lines
from support.pipeline.event_models import MODELS
from support.pipeline.native_events import RECORDS, compare

USUAL = [line for line in (compact(model).encode() for model in MODELS) if not re.search(rb"\.[0-9]{7}", line)]
"""Events without numbers of very many digits."""
COUNT = 2_000  # and a hundred thousand in tests/slow/pipeline


def test_usual_events_are_decoded_without_the_codec(spark):
    assert len(USUAL) > len(MODELS) - 20
    assert compare(spark, USUAL) == (len(USUAL), 0, {})


def test_whatever_is_decoded_without_the_codec_is_decoded_as_by_it(spark):
    seed = random.randrange(2**32)
    print("seed", seed)
    lines = [form(copy.deepcopy(model)) for form in FORMS.values() for model in (MODELS[0], MODELS[-3])]
    lines += [*damaged_lines(MODELS, seed=seed, count=COUNT), None, b"", b"x" * (EVENT_BYTES_MAX + 1)]
    native, others, reasons = compare(spark, lines)
    assert native > COUNT / 8
    assert others > COUNT / 8
    assert len(reasons) > 20


def test_an_event_of_very_many_members_is_decoded_without_the_codec(spark):
    model = next(model for model in MODELS if len(model.get("members", ())) == 2 and model["parts"] == 1)
    [one, *_] = model["members"]
    members = [one | {"member_id": f"m-{number}", "owned": {"t": f"{number}"}} for number in range(3_000)]
    lines = [compact(model | {"members": members}).encode(), compact(model | {"members": members[:2] * 2}).encode()]
    assert compare(spark, lines)[0] == 1


def test_only_the_other_records_are_moved_to_python(spark):
    lines = [USUAL[0], b"no JSON"]
    records = spark.createDataFrame([(None, line, "t", 0, 0, None) for line in lines], RECORDS)
    plan = decoded(records)._jdf.queryExecution().optimizedPlan().toString()
    [_, below] = plan.split("MapInArrow")
    assert below.lstrip().splitlines()[1].lstrip(" +-").startswith(("Project", "Filter"))
    assert "isnull" in below
    assert {row["reason"] for row in decoded(records).collect()} == {None, str(event_row(b"no JSON"))}
