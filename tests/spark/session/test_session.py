"""Sessions start and end in a process: what they leave, and which modules and strategies their workers find."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import pyspark
import pytest

from rebalance_agent.advice import history_of, what_if
from rebalance_agent.assignors import STRATEGIES
from support.assignors.plugin_site import ROOT, install, run
from support.tracker.histories import clustered

PROGRAM = """
import json, sys
sys.path.append(sys.argv[1])  # of the driver alone
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.whatif_tables import studies, whatif
from support.pipeline.event_rows import events_frame
from support.pipeline.pipelines import SHORT_LIVED
from support.tracker.histories import clustered

settings = SessionSettings(master="local[1]", driver_memory="512m", partitions=1, more=SHORT_LIVED)
with open_session(settings) as spark:
    print(spark.range(3).count())
with open_session(settings) as spark:
    events = events_frame(spark, clustered(8))
    rows = whatif(studies(generations(events), events)).collect()
print(json.dumps({row["strategy"]: [row["refused"], row["moved"]] for row in rows}))
"""


@pytest.fixture(scope="module")
def started_in(tmp_path_factory):
    """An empty folder."""
    return tmp_path_factory.mktemp("started-in")


@pytest.fixture(scope="module")
def output(tmp_path_factory, started_in):
    """What a program prints that has two sessions, and a package with strategies on its path."""
    site = install(tmp_path_factory.mktemp("site"))
    ended = run(site, "-c", PROGRAM, str(ROOT / "tests"), folder=started_in)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout.splitlines()


def test_where_it_was_started_nothing_is_left(output, started_in):
    assert output[0] == "3"
    assert list(started_in.iterdir()) == []


def test_workers_find_the_strategies_that_the_driver_finds(output):
    found = json.loads(output[1])
    assert found.keys() == {*STRATEGIES, "rendezvous", "cooperative-rendezvous"}
    refused, moved = found["rendezvous"]
    assert refused is None
    assert moved > 0
    ours = {each.strategy: each for each in what_if(history_of(clustered(8))).outcomes}
    assert found["range"] == [None, ours["range"].figures.moved]


def test_workers_import_from_folders(spark):
    """Python 3.11 reads the directory of each archive on the path before each task."""

    def imported_from(batches):  # inside, so that workers, which have no tests on their path, get it by value
        entries = [*sys.path, *sys.path_importer_cache]
        for _ in batches:
            yield pd.DataFrame({"entry": entries, "pyspark": pyspark.__file__})

    rows = spark.range(1).mapInPandas(imported_from, "entry string, pyspark string").collect()
    assert [row.entry for row in rows if Path(row.entry).is_file()] == []
    assert {row.pyspark for row in rows} == {pyspark.__file__}
