"""The Go program of the docs reports by franz-go's callbacks, and the observer measures exact stalls."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.members.go_programs import go_program
from support.members.reporting_program import two_members_report

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FOLDER = Path(__file__).parents[3] / "examples" / "go"
LINES_MAX = 80


def test_what_a_consumer_copies_is_short():
    assert len((FOLDER / "reporting.go").read_text(encoding="utf-8").splitlines()) < LINES_MAX


def test_two_members_of_franz_go_report_and_their_stall_is_exact(kafka):
    if (program := go_program(FOLDER)) is None:
        assert os.environ.get("CI") != "true", "Go is missing"
        pytest.skip("no go on the PATH")
    stall, members = two_members_report(kafka.bootstrap_servers, program)
    assert stall["basis"] == "exact"
    assert {event["client_id"] for event in members} == {"one", "two"}
    assert {"revoked", "assigned", "left"} <= {event["callback"] for event in members}
    assert max(event["generation"] for event in members) > 1
