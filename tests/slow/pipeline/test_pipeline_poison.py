"""Thousands of damaged events among ordinary ones: every stage succeeds, with unchanged results for the others."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from bench.pipeline.poison import poison
from pyspark.sql import functions as F  # noqa: N812

from rebalance_agent.clock import FakeClock
from rebalance_agent.model.event_json import event_to_json, json_line
from rebalance_agent.pipeline.ingest.event_rows import EventRow, event_row
from rebalance_agent.pipeline.ingest.event_times import ReadAt
from rebalance_agent.pipeline.ingest.ingest_events import events_of_files, ingest_batch
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.stages import ADVISED, advise, aggregate, judge
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.expectations import broken
from support.pipeline.event_rows import HOUR_MS, MONDAY_MS, events_frame, generation, gone, member, random_history
from support.pipeline.pipelines import SHORT_LIVED

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_800),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

GROUPS, KINDS = 12, 1_500
END_MS = MONDAY_MS + 28 * 24 * HOUR_MS
ORDINARY = [
    *(event for seed in range(GROUPS) for event in random_history(seed, group=f"g{seed}")),
    gone(END_MS, group="end"),  # the cluster's last event: no damaged one is later than the clock
]
GOLDEN = Path(__file__).parents[2] / "golden" / "captured_topic_events.ndjson"
CAPTURED = [json.loads(line) for line in GOLDEN.read_bytes().splitlines()]
LATER_MS = min(event["timestamp_ms"] for event in CAPTURED) - MONDAY_MS


def moved(value):
    """``value`` with all times moved from those of the captured events to those of the ordinary ones."""
    if isinstance(value, dict):
        return {name: moved(each) for name, each in value.items()}
    if isinstance(value, list):
        return [moved(each) for each in value]
    is_time = isinstance(value, int) and value >= MONDAY_MS
    return value - LATER_MS if is_time else value


MODELS = [*map(moved, CAPTURED), *map(event_to_json, ORDINARY[:200])]
OLD = [generation(MONDAY_MS + number, 1, [member("a", (0,))], group=f"old-{number}") for number in range(3)]
"""Events that an earlier release stored unchanged; `OLD_BODIES` has the stored bodies."""
OLD_BODIES = (
    json_line(OLD[0]).decode().replace('"epoch_kind":"generation",', ""),
    json_line(OLD[1]).decode()[:-1] + f',"news":{"7" * 2_000}}}',
    json_line(OLD[2]).decode()[:-1] + f',"{"k" * 60_000}":1}}',
)
OTHERS = ("ingested_at", "ran_at", "computed_at", "file")


@pytest.fixture(scope="module")
def spark():
    settings = SessionSettings(master="local[2]", driver_memory="1g", partitions=2, more=SHORT_LIVED)
    with open_session(settings, "tests") as session:
        yield session


def run(spark, folder, lines, old=()):
    """All stages over these lines; the tables, and the expectations that are broken."""
    (folder / "events").mkdir(parents=True)
    (folder / "events" / "events.ndjson").write_bytes(b"\n".join(lines))
    tables, clock = DeltaTables(spark, str(folder / "tables")), FakeClock(END_MS)
    ingest_batch(tables, events_of_files(spark, str(folder / "events")), "files", clock)
    if old:
        frame = events_frame(spark, old)
        bodies = {event.event_id: body for event, body in zip(old, OLD_BODIES, strict=True)}
        spoilt = F.udf(lambda event_id: bodies[event_id], "string")
        tables.merge("events", frame.withColumn("body", spoilt("event_id")))
    aggregate(tables, END_MS, print)
    results = [*judge(tables, END_MS, print)]
    advise(tables, print)
    results += judge(tables, END_MS, print, ADVISED)
    return tables, results


def rows(tables, name):
    """A table's rows of ordinary groups; the last digits of sums of floats depend on their order."""
    frame = tables.read(name).drop(*OTHERS).where(F.col("group").isin([event.group for event in ORDINARY]))
    found = ({key: rounded(value) for key, value in row.asDict(recursive=True).items()} for row in frame.collect())
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in found)


def rounded(value):
    return round(value, 6) if isinstance(value, float) else value


def test_an_undamaged_model_is_a_row():
    models = [event_row(json.dumps(model).encode(), ReadAt(END_MS)) for model in MODELS]
    assert [model for model in models if not isinstance(model, EventRow)] == []


def test_damaged_events_fail_no_stage_and_change_no_result_of_others(spark, tmp_path):
    seed = random.randrange(2**32)
    print("seed", seed)
    ordinary = [json_line(event) for event in ORDINARY]
    mixed = [*ordinary, *poison(MODELS, seed=seed, count=KINDS)]
    random.Random(seed).shuffle(mixed)
    alone, _ = run(spark, tmp_path / "alone", ordinary)
    among, results = run(spark, tmp_path / "among", mixed, OLD)
    for name in ("events", "generations", "members", "group_hours", "baselines", "whatif", "fidelity"):
        expected, found = rows(alone, name), rows(among, name)
        assert expected, name
        assert set(found) ^ set(expected) == set(), name
        assert len(found) == len(expected), name
    assert rows(among, "recommendations") == rows(alone, "recommendations")
    assert broken(results) == []
    rejected = among.read("events_rejected").count()
    stored = among.read("events").count() - len(ordinary) - len(OLD)
    assert rejected > KINDS / 10
    assert stored > KINDS / 10
    [unread] = [row for row in results if row["expectation"] == "each generation event is a row"]
    assert unread["failed"] == len(OLD)
