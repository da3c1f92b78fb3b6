"""A session leaves a folder of the user's as it was, although Spark would have created it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

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
