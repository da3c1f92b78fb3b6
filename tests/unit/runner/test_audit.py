"""`make audit` with pip-audit's answers: a missing answer is an error."""

import json
import subprocess
from pathlib import Path

import pytest

from supply import audit
from supply.audit import UNANSWERED, VULNERABLE, Answers, answers, ask, requirements, verdict

VERSIONS = [("numpy", "1.0"), ("numpy", "2.0"), ("pyyaml", "5.3")]
NOTHING_KNOWN = dict.fromkeys(VERSIONS, ())


def test_versions_for_every_system_are_requested():
    files = [text.splitlines() for text in requirements([*VERSIONS, *VERSIONS])]
    assert sorted(line for lines in files for line in lines) == ["numpy==1.0", "numpy==2.0", "pyyaml==5.3"]
    for lines in files:
        assert len({line.partition("==")[0] for line in lines}) == len(lines), "pip-audit refuses two versions in one"


def test_versions_skipped_by_pip_audit_have_no_answer():
    report = {
        "dependencies": [
            {"name": "numpy", "skip_reason": "Dependency not found on PyPI and could not be audited: numpy (1.0)"},
            {"name": "numpy", "version": "2.0", "vulns": []},
            {
                "name": "pyyaml",
                "version": "5.3",
                "vulns": [
                    {"id": "PYSEC-1", "aliases": ["CVE-1", "GHSA-1"], "fix_versions": ["5.4"], "description": "long"},
                    {"id": "PYSEC-2", "aliases": [], "fix_versions": [], "description": "long"},
                ],
            },
        ]
    }
    assert answers(report) == Answers(
        {
            ("numpy", "2.0"): [],
            ("pyyaml", "5.3"): ["PYSEC-1 (CVE-1, GHSA-1), fixed in 5.4", "PYSEC-2, not fixed yet"],
        },
        "Dependency not found on PyPI and could not be audited: numpy (1.0)",
    )


def test_the_audit_passes_only_if_each_version_has_no_known_vulnerability():
    assert verdict(VERSIONS, Answers(NOTHING_KNOWN)) == (0, ["audit: nothing is known against 3 versions"])


def test_an_audit_without_locked_versions_fails():
    assert verdict([], Answers({})) == (
        UNANSWERED,
        ["audit: no version is locked in requirements/*.lock"],
    )


def test_a_database_without_an_answer_for_one_version_is_a_failure():
    code, lines = verdict(VERSIONS, Answers(dict.fromkeys(VERSIONS[:2], ()), "ERROR: no such host"))
    assert code == UNANSWERED
    assert "no answer for 1 of 3 versions, pyyaml 5.3: they may" in lines[0]
    assert lines[1] == "  pip-audit: ERROR: no such host"


def test_known_vulnerabilities_are_reported_even_if_others_have_no_answer():
    code, lines = verdict(VERSIONS, Answers({("pyyaml", "5.3"): ("PYSEC-1, fixed in 5.4",)}))
    assert code == VULNERABLE
    assert lines[0] == "pyyaml 5.3: PYSEC-1, fixed in 5.4"
    assert any("no answer for 2 of 3 versions" in line for line in lines)
    assert lines[-1] == "audit: 1 of 3 versions have known vulnerabilities"


@pytest.mark.parametrize("written", [True, False])
def test_an_audit_without_a_report_fails(monkeypatch, written):
    """pip-audit exits with 0 although it skipped all versions, and with 1 for both findings and failures."""

    def run(command, **_options):
        (report,) = (each.partition("=")[2] for each in command if each.startswith("--output="))
        if written:
            passed_over = {"dependencies": [{"name": "pyyaml", "skip_reason": "No such host"}]}
            Path(report).write_text(json.dumps(passed_over), encoding="utf-8")
        return subprocess.CompletedProcess(
            command, 0 if written else 1, "", "Well done\n" if written else "Traceback\nNo such host\n"
        )

    monkeypatch.setattr(audit.subprocess, "run", run)
    asked = ask("python", [("pyyaml", "5.3")])
    assert asked == Answers({}, "No such host")
    assert verdict([("pyyaml", "5.3")], asked)[0] == UNANSWERED
