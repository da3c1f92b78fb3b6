"""`verify --tables` on a real cluster: an observer publishes, the pipeline ingests, the tables match the log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from rebalance_agent.testing import EmbeddedKafka
from support.observer.observing import KIP_848, create_topic, eventually, everything, members, observing
from support.pipeline.pipelines import AGENT, SHORT_LIVED

KINDS = {
    "eager": {"partition.assignment.strategy": "range"},
    "cooperative": {"partition.assignment.strategy": "cooperative-sticky"},
    "consumer": KIP_848,
}
SPARK = [
    word
    for name, value in {**SHORT_LIVED, "spark.master": "local[2]"}.items()
    for word in ("--spark", f"{name}={value}")
]


@pytest.fixture
def command(tmp_path):
    def run(*words):
        line = [sys.executable, "-m", "rebalance_agent.cli.main", *words, "--tables", str(tmp_path / "tables"), *SPARK]
        environment = {**os.environ, "PYTHONPATH": str(AGENT)}
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr[-4_000:]
        return done

    return run


def _rebalanced(bootstrap):
    """Members of each group join, more join and leave, all leave; each step is reported before the next."""
    with observing(bootstrap):
        for count in (1, 2, 1, 0):
            with ExitStack() as stack:
                for _ in range(count):
                    for kind, settings in KINDS.items():
                        stack.enter_context(members(bootstrap, kind, "orders", **settings))
                eventually(lambda count=count: _sizes(bootstrap) == dict.fromkeys(KINDS, count))


def _sizes(bootstrap):
    """Group -> number of members in its last reported generation."""
    return {each["group"]: len(each["members"]) for each in _generations(bootstrap).values()}


def _generations(bootstrap):
    events = (json.loads(each.value()) for each in everything(bootstrap, "rebalance-events"))
    return {each["event_id"]: each for each in events if each["kind"] == "generation"}


def test_tables_of_a_real_cluster_are_clean_and_unaggregated_events_are_too_new(command):
    with EmbeddedKafka() as kafka:
        bootstrap = kafka.bootstrap_servers
        cluster = ("--bootstrap-servers", bootstrap)
        create_topic(bootstrap, "orders", 4)
        _rebalanced(bootstrap)
        reported = len(_generations(bootstrap))
        command("pipeline", "ingest", *cluster)
        command("pipeline", "aggregate")
        clean = command("verify", *cluster, "--grace-seconds", "0", "--json")
        found = json.loads(clean.stdout)
        assert (clean.returncode, found["found"], found["groups"]) == (0, 0, len(KINDS))
        assert found["tables"]["generations"]["agreed"] == reported >= 2 * len(KINDS)

        _rebalanced(bootstrap)
        command("pipeline", "ingest", *cluster)
        later = json.loads(command("verify", *cluster, "--grace-seconds", "0", "--json").stdout)
        assert (later["clean"], later["pending"]) == (True, 0)
        assert later["agreed"] > found["agreed"]
        assert later["tables"]["generations"]["pending"] == len(_generations(bootstrap)) - reported > 0
