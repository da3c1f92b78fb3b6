"""The Java program of the docs reports by its rebalance listener, and the observer measures exact stalls."""

from __future__ import annotations

import os
import subprocess
import uuid
from contextlib import contextmanager
from pathlib import Path

import pytest

from rebalance_agent.testing.kafka.java import java_runtime
from support.java.client_jar import compiled_sources
from support.observer.observing import beside, create_topic, events, eventually, observing

pytestmark = pytest.mark.integration

PROGRAM = Path(__file__).parents[2] / "examples" / "java" / "ReportingConsumer.java"
LINES_MAX = 80
PATIENCE_S = 60


@contextmanager
def running(class_path, url, *arguments):
    """The program as a process, which leaves its group at the end."""
    process = subprocess.Popen(
        [java_runtime().java, "-Xmx128m", "-cp", class_path, "ReportingConsumer", *arguments],
        env={**os.environ, "REBALANCE_AGENT_EVENTS_URL": url},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield
        _, errors = process.communicate("\n", PATIENCE_S)
        assert process.returncode == 0, errors
        assert "refused" not in errors
    finally:
        process.kill()
        process.wait()


def test_the_program_is_short():
    assert len(PROGRAM.read_text(encoding="utf-8").splitlines()) < LINES_MAX


def test_two_members_report_by_their_listeners_and_their_stall_is_exact(kafka, tmp_path):
    bootstrap, unique = kafka.bootstrap_servers, uuid.uuid4().hex[:8]
    topic, group, published = f"topic-{unique}", f"group-{unique}", f"events-{unique}"
    create_topic(bootstrap, topic, 4)
    class_path = compiled_sources(java_runtime().jars, tmp_path / "classes", PROGRAM)

    def stalls():
        """The stalls of the rebalances in which the second member joined, by the last revision of each."""
        last = {event["event_id"]: event for event in events(bootstrap, published, group=group)}
        return [event["stall"] for event in last.values() if "stall" in event and len(event["members"]) == 2]

    with (
        observing(bootstrap, events_topic=published, settle_seconds=3) as observer,
        beside(bootstrap, events_topic=published) as sidecar,
    ):
        url = f"http://127.0.0.1:{sidecar.role.events_port}/v1/events"
        with running(class_path, url, bootstrap, topic, group, "one"):
            eventually(lambda: observer.metric("kafka_rebalance_members", consumergroup=group) == 1)
            eventually(lambda: observer.metric("kafka_rebalance_partitions_unassigned", consumergroup=group) == 0)
            with running(class_path, url, bootstrap, topic, group, "two"):
                eventually(lambda: stalls() and stalls()[-1]["basis"] == "exact")
        reported = [event for event in events(bootstrap, published, group=group) if event["kind"] == "member"]
    assert {event["client_id"] for event in reported} == {"one", "two"}
    assert {"revoked", "assigned", "left"} <= {event["callback"] for event in reported}
