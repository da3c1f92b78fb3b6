"""The exact report of ``rebalance-agent check``: people paste from it, and programs parse it.

``REBALANCE_AGENT_GOLDEN=write pytest tests/golden`` writes the files.
"""

import os
from pathlib import Path

import pytest

from rebalance_agent.cli.output_flag import as_text
from rebalance_agent.runtime.preflight.findings import Finding, FindingStatus, exit_code, in_use
from rebalance_agent.runtime.preflight.findings_report import closing, report, row
from rebalance_agent.runtime.settings.rights import acl_command, agent_rights
from rebalance_agent.runtime.settings.roles import ObserverSettings

FOLDER = Path(__file__).parent
RIGHTS = agent_rights(ObserverSettings(replicas_group="rebalance-agent"))
SERVER = Finding(
    "server kafka-1:9093", FindingStatus.OK, detail="SASL_SSL with SCRAM-SHA-512; answered in 31 ms", reached=True
)
GONE = Finding(
    "server kafka-2:9093",
    FindingStatus.FAILED,
    detail="TLS: the server's certificate has expired (certificate has expired)",
    fix="renew the certificate on the broker",
    reached=False,
)
FOUND = (
    Finding("listen 0.0.0.0:29308", FindingStatus.OK, "serves metrics, health and the API", "is free"),
    SERVER,
    GONE,
    Finding("cluster", FindingStatus.OK, detail="id jyVAyH1QQxOvwRUPQb0b1A, 2 brokers"),
    *(
        Finding(
            str(right),
            FindingStatus.SKIPPED if right.optional else FindingStatus.MISSING,
            right.why,
            f"optional, not granted: {right.lost}" if right.optional else "",
            right.lost,
            right.mode,
            acl_command(right, "User:observer", "kafka-1:9093,kafka-2:9093"),
        )
        for right in RIGHTS
    ),
    Finding("Create on Topic 'x'", FindingStatus.SKIPPED, "creates the topic if it is missing", "the topic exists"),
)


def _same_as(name, text):
    golden = FOLDER / name
    if os.environ.get("REBALANCE_AGENT_GOLDEN") == "write":
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_the_readable_rows_are_the_golden_ones():
    _same_as("check_report.txt", "\n".join([*map(row, FOUND), "", closing(FOUND), ""]))


def test_the_json_object_is_the_golden_one():
    _same_as("check_report.json", as_text(report("observer", "User:observer", FOUND), "json", 2) + "\n")


@pytest.mark.parametrize(
    ("found", "code", "reported"),
    [
        ([SERVER], 0, "1 ok: all requirements are met"),
        ([], 0, ": all requirements are met"),
        ([SERVER, GONE], 1, "1 ok, 1 failed: correct the failed checks, then run check again"),
        ([GONE], 2, "1 failed: the cluster was not reached"),
        ([SERVER, FOUND[4]], 1, "1 ok, 1 missing: the agent runs without the missing permissions"),
        ([Finding("x", FindingStatus.SKIPPED)], 0, "1 skipped: all requirements are met"),
        ([in_use("x", "")], 0, "1 skipped: all requirements are met; a second agent needs another address"),
        ([in_use("x", "")] * 2, 0, "2 skipped: all requirements are met; a second agent needs 2 other addresses"),
    ],
)
def test_exit_code_and_last_line_agree(found, code, reported):
    assert exit_code(found) == code
    assert closing(found).splitlines()[0] == reported
