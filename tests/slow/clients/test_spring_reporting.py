"""The Spring bean of the docs reports by the listener that it wraps, and the observer measures exact stalls."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_agent.testing.kafka.java import java_runtime
from support.java.client_jar import compiled_sources, spring_kafka
from support.members.reporting_program import two_members_report

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FOLDER = Path(__file__).parents[3] / "examples" / "java"
BEAN = FOLDER / "spring" / "ReportingSpringConsumer.java"
LINES_MAX = 80


def test_the_program_is_short():
    assert len(BEAN.read_text(encoding="utf-8").splitlines()) < LINES_MAX


def test_two_members_of_spring_report_and_their_stall_is_exact(kafka, tmp_path):
    classes = tmp_path / "classes"
    class_path = compiled_sources(spring_kafka(), classes, FOLDER / "ReportingConsumer.java", BEAN)
    command = [java_runtime().java, "-Xmx128m", "-cp", class_path, BEAN.stem]
    stall, members = two_members_report(kafka.bootstrap_servers, *command)
    assert stall["basis"] == "exact"
    assert {event["client_id"] for event in members} == {"one-0", "two-0"}  # a listener's threads have numbers
    assert {"revoked", "assigned", "left"} <= {event["callback"] for event in members}
