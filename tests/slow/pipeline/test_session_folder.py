"""A session leaves a folder of the user's as it was, although Spark would have created it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from support.observer.observing import eventually
from support.pipeline.pipelines import AGENT, SHORT_LIVED

PROGRAM = f"""
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
settings = SessionSettings(master="local[1]", driver_memory="512m", more={json.dumps(SHORT_LIVED)})
for _ in range(2):
    with open_session(settings) as spark:
        print(spark.range(3).count())
"""


def test_a_folder_that_was_there_before_stays(tmp_path):
    (tmp_path / "artifacts").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(AGENT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["3", "3"]), done.stderr[-3000:]
    assert [each.name for each in tmp_path.iterdir()] == ["artifacts"]


WORKING = f"""
import sys, time
from pathlib import Path
from rebalance_agent.cli.main import main
from rebalance_agent.cli.pipeline import jars
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session

def work(_number):
    Path("working").touch()
    time.sleep(600)

def run(_options):
    settings = SessionSettings(master="local[1]", driver_memory="512m", more={json.dumps(SHORT_LIVED)})
    with open_session(settings) as spark:
        spark.sparkContext.parallelize([0]).map(work).collect()

jars.run = run
sys.exit(main(["pipeline", "jars"]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_running_work_without_a_traceback_or_a_folder(tmp_path, number):
    environment = {**os.environ, "PYTHONPATH": str(AGENT)}
    command = [sys.executable, "-c", WORKING]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            eventually((tmp_path / "working").exists, 600)
            process.send_signal(number)
            reported = process.stderr.read()
            assert process.wait(600) == 128 + number, reported
        finally:
            process.kill()
    assert "Traceback" not in reported
    assert [each.name for each in tmp_path.iterdir()] == ["working"]
