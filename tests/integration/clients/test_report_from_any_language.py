"""Programs in other languages post their rebalances themselves, and the observer measures exact stalls."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.members.member_lines import KAFKAJS_MEMBER
from support.members.reporting_program import two_members_report
from support.runner.node import NODE, packages

pytestmark = pytest.mark.integration

PROGRAM = Path(__file__).parents[3] / "examples" / "kafkajs_reporting.js"
LINES_MAX = 80


def test_the_program_is_short():
    assert len(PROGRAM.read_text(encoding="utf-8").splitlines()) < LINES_MAX


def test_two_members_of_kafkajs_report_and_their_stall_is_exact(kafka):
    modules = packages("kafkajs", KAFKAJS_MEMBER) / "node_modules"
    stall, members = two_members_report(kafka.bootstrap_servers, NODE, PROGRAM, NODE_PATH=str(modules))
    assert stall["basis"] == "exact"
    assert {event["client_id"] for event in members} == {"one", "two"}
    assert {"revoked", "assigned", "left"} <= {event["callback"] for event in members}
    assert len({event["event_id"] for event in members}) == len(members)
