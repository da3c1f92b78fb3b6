"""A session starts and ends in its own process: its leftovers and their owner. Its workers import from folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyspark
import pytest

from support.pipeline.pipelines import AGENT, SHORT_LIVED

TWICE = f"""
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
settings = SessionSettings(master="local[1]", driver_memory="512m", more={json.dumps(SHORT_LIVED)})
for _ in range(2):
    with open_session(settings) as spark:
        print(spark.range(3).count())
"""


@pytest.fixture
def run(tmp_path):
    def run():
        environment = {**os.environ, "PYTHONPATH": str(AGENT)}
        done = subprocess.run(
            [sys.executable, "-c", TWICE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout.split()) == (0, ["3", "3"]), done.stderr[-3000:]
        return [each.name for each in tmp_path.iterdir()]

    return run


def test_a_session_leaves_no_files_in_its_working_directory(run):
    assert run() == []


def test_an_existing_folder_is_kept(run, tmp_path):
    (tmp_path / "artifacts").mkdir()
    assert run() == ["artifacts"]


def test_workers_import_from_folders(spark):
    """Python 3.11 reads the directory of each archive on the path before each task."""

    def imported_from(batches):  # defined inside, so that workers without the tests on their path get it by value
        entries = [*sys.path, *sys.path_importer_cache]
        for _ in batches:
            yield pd.DataFrame({"entry": entries, "pyspark": pyspark.__file__})

    rows = spark.range(1).mapInPandas(imported_from, "entry string, pyspark string").collect()
    assert [row.entry for row in rows if Path(row.entry).is_file()] == []
    assert {row.pyspark for row in rows} == {pyspark.__file__}
