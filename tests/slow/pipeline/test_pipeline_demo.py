"""A stream ingests the demo's events while it runs and is killed: the tables contain the demo's history."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from rebalance_agent.clock import FakeClock, SystemClock
from rebalance_agent.demo.scenario import GROUPS, STEPS
from rebalance_agent.pipeline.ingest.backfill import keep, records_of_topic, replayed, topic_now
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.stages import ADVISED, advise, aggregate, fidelity_summary, judge
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.expectations import broken
from support.observer.observing import eventually, everything
from support.pipeline.pipelines import SHORT_LIVED, Ingest, commits, generations, stored

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]

TOPIC = "rebalance-events"
DEMO_S = 300
"""Seconds for all steps: they take 90 on an idle machine."""


class Demo:
    """The demo, which runs until it is ended, and its output."""

    def __init__(self, log):
        self._log = log
        self.bootstrap = self.said(r"Kafka is ready after \S+ s at (\S+)")[1]

    def said(self, pattern):
        return eventually(lambda: re.search(pattern, self._log.read_text()), DEMO_S, waiting_for=self._log)


@contextmanager
def performing(folder):
    log = folder / "demo.log"
    command = [sys.executable, "-m", "rebalance_agent.cli.main", "demo", "--headless", "--seconds", "0"]
    environment = {**os.environ, "TMPDIR": str(folder)}
    with log.open("wb") as file:
        process = subprocess.Popen(command, env=environment, stdout=file, stderr=subprocess.STDOUT)
    try:
        yield Demo(log)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130, log.read_text()


def best(bootstrap):
    """The highest revision of each event in the topic."""
    found = {}
    for message in everything(bootstrap, TOPIC):
        event = json.loads(message.value())
        found[event["event_id"]] = max(event.get("revision", 0), found.get(event["event_id"], 0))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def spark():
    settings = SessionSettings(master="local[2]", driver_memory="1g", partitions=2, more=SHORT_LIVED)
    with open_session(settings, "tests") as session:
        yield session


@pytest.fixture(scope="module")
def performed(folder, spark):
    """The tables from ingest and from the coordinator's log, and the topic's events before and after."""
    ingested, found = folder / "ingested", DeltaTables(spark, str(folder / "found"))
    with performing(folder) as demo:
        properties = {"bootstrap.servers": demo.bootstrap}
        demo.said("> join")  # the observer has then created its topic
        for moment in ("> slow consumer", "> added partitions"):
            stream = Ingest(demo.bootstrap, TOPIC, ingested, folder / "ingest.log")
            eventually(lambda: commits(ingested) > 1, DEMO_S, waiting_for=folder / "ingest.log")
            demo.said(moment)
            stream.kill()
        for step in STEPS:
            demo.said(f"  {step.name}: over")
        before = best(demo.bootstrap)
        stream = Ingest(demo.bootstrap, TOPIC, ingested, folder / "ingest.log")
        tables = DeltaTables(spark, str(ingested))
        eventually(lambda: is_known(tables, before), DEMO_S, waiting_for=folder / "ingest.log")
        assert stream.interrupt() == 0
        after = best(demo.bootstrap)
        now = topic_now(properties)
        keep(found, replayed(records_of_topic(spark, properties, now), now.facts), FakeClock())
    return tables, found, before, after


def revisions(tables):
    return [
        (row["event_id"], row["revision"]) for row in tables.read("events").select("event_id", "revision").collect()
    ]


def is_known(tables, reported):
    there = dict(revisions(tables))
    return all(there.get(name, -1) >= revision for name, revision in reported.items())


def test_each_event_of_the_demo_is_stored_once_with_its_highest_revision(performed):
    tables, _, before, after = performed
    there = dict(revisions(tables))
    assert len(there) == tables.read("events").count()
    assert before.keys() <= there.keys() <= after.keys()
    assert all(before.get(name, 0) <= revision <= after[name] for name, revision in there.items())
    assert {each["kind"] for each in stored(tables)} >= {"generation", "member", "assign"}
    assert {each["group"] for each in stored(tables)} >= {each.name for each in GROUPS}
    assert tables.read("events_rejected").count() == 0


def test_the_coordinators_log_shows_the_same_generations(performed):
    tables, found, _, _ = performed
    watched, left = generations(stored(tables)), generations(stored(found))
    assert watched.keys() <= left.keys()
    # The log does not contain a topic's partition count before its growth.
    same = {name for name in watched if watched[name]["topics"] == left[name]["topics"]}
    assert len(same) > len(watched) / 2
    assert {name: left[name] for name in same} == {name: watched[name] for name in same}


def test_the_demos_decisions_are_repeated_and_its_clustered_group_gets_advice(performed):
    tables, *_ = performed
    now_ms = SystemClock().now_ms()
    aggregate(tables, now_ms, print)
    advise(tables, print)
    results = [*judge(tables, now_ms, print), *judge(tables, now_ms, print, ADVISED)]
    assert broken(results, strict=True) == []
    summary = fidelity_summary(tables)
    assert (summary["moves"], summary["skew"]) == (1.0, 1.0)
    assert summary["checked"] > len(STEPS)
    (advice,) = tables.read("recommendations").where("group = 'clicks-range'").collect()
    assert advice["strategy"] == "cooperative-sticky"  # test_whatif checks that it is better in practice
