"""The Java program of the docs reports by its rebalance listener, and the observer measures exact stalls."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_agent.testing.kafka.java import java_runtime
from support.java.client_jar import compiled_sources
from support.members.reporting_program import two_members_report

pytestmark = pytest.mark.integration

PROGRAM = Path(__file__).parents[2] / "examples" / "java" / "ReportingConsumer.java"
LINES_MAX = 80


def test_the_program_is_short():
    assert len(PROGRAM.read_text(encoding="utf-8").splitlines()) < LINES_MAX


def test_two_members_report_by_their_listeners_and_their_stall_is_exact(kafka, tmp_path):
    runtime = java_runtime()
    class_path = compiled_sources(runtime.jars, tmp_path / "classes", PROGRAM)
    command = [runtime.java, "-Xmx128m", "-cp", class_path, PROGRAM.stem]
    stall, members = two_members_report(kafka.bootstrap_servers, *command)
    assert stall["basis"] == "exact"
    assert {event["client_id"] for event in members} == {"one", "two"}
    assert {"revoked", "assigned", "left"} <= {event["callback"] for event in members}
