"""Findings as text for people, a row when it is made, and as one JSON object for machines."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from rebalance_agent.runtime.preflight.findings import Finding, FindingStatus, exit_code

__all__ = ["closing", "json_report", "row"]

WIDTH = 110
INDENT = " " * 9
ACLS = "kafka-acls.sh"

_VERDICTS = {0: "ok", 1: "incomplete", 2: "unreachable"}


def row(finding: Finding) -> str:
    """A line with the status and name, and beneath it what is to be said of it."""
    lines = [f"{finding.status:<8} {finding.name}" + (f": {finding.detail}" if finding.detail else "")]
    if finding.status in (FindingStatus.MISSING, FindingStatus.FAILED):
        for word, text in (("for", finding.purpose), ("without", finding.lost), ("mode", finding.mode)):
            begin = f"{INDENT}{word:<8} "
            lines += textwrap.wrap(
                text, WIDTH, initial_indent=begin, subsequent_indent=INDENT * 2, break_on_hyphens=False
            )
        if finding.fix:
            lines.append(f"{INDENT}{'fix':<8} {finding.fix}")  # in one line, to be copied
    return "\n".join(lines)


def closing(findings: Iterable[Finding]) -> str:
    """The counts, and what follows from them."""
    found = tuple(findings)
    counts = Counter(each.status for each in found)
    told = ", ".join(f"{counts[status]} {status}" for status in FindingStatus if counts[status])
    meaning = {
        0: "everything that is needed is there",
        1: "the agent runs without what is missing, as told above",
        2: "no server of the cluster could be reached",
    }[exit_code(found)]
    if counts[FindingStatus.FAILED] and exit_code(found) == 1:
        meaning = "correct what failed, and check again"
    lines = [f"{told}: {meaning}"]
    if any(each.fix.startswith(ACLS) for each in found):
        lines.append(f"{ACLS} is for who may alter ACLs: --command-config FILE says how he logs in")
    return "\n".join(lines)


def json_report(role: str, principal: str, findings: Sequence[Finding]) -> str:
    """One object; texts that are empty are left out of a check."""
    checks = [
        {
            "name": each.name,
            "status": each.status.value,
            **{
                name: text
                for name, text in (
                    ("for", each.purpose),
                    ("detail", each.detail),
                    ("without", each.lost),
                    ("degraded_mode", each.mode),
                    ("fix", each.fix),
                )
                if text
            },
        }
        for each in findings
    ]
    verdict = _VERDICTS[exit_code(findings)]
    return json.dumps({"role": role, "principal": principal, "verdict": verdict, "checks": checks}, indent=2)
