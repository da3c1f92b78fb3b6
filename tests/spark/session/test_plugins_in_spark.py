"""The what-if in Spark replays strategies of other packages, which the Python workers find as the driver does."""

from __future__ import annotations

import json

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
with open_session(settings, "plugins") as spark:
    events = events_frame(spark, clustered(8))
    rows = whatif(studies(generations(events), events)).collect()
print(json.dumps({row["strategy"]: [row["refused"], row["moved"]] for row in rows}))
"""


def test_workers_find_the_drivers_plugins(tmp_path):
    ended = run(install(tmp_path), "-c", PROGRAM, str(ROOT / "tests"))
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found.keys() == {*STRATEGIES, "rendezvous", "cooperative-rendezvous"}
    refused, moved = found["rendezvous"]
    assert refused is None
    assert moved > 0
    ours = {each.strategy: each for each in what_if(history_of(clustered(8))).outcomes}
    assert found["range"] == [None, ours["range"].figures.moved]
