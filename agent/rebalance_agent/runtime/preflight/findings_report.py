"""Formats findings as text, row by row, and as one object for JSON."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from rebalance_agent.runtime.preflight.findings import Finding, FindingStatus, exit_code

__all__ = ["CHECK_FIELDS", "closing", "report", "row"]

WIDTH = 110
INDENT = " " * 9
ACLS = "kafka-acls.sh"

CHECK_FIELDS = {
    "name": "name",
    "status": "status",
    "for": "purpose",
    "detail": "detail",
    "without": "lost",
    "degraded_mode": "mode",
    "fix": "fix",
}
"""Name in the report -> field of a `Finding`, in the report's order."""

_VERDICTS = {0: "ok", 1: "incomplete", 2: "unreachable"}


_COLORS = {FindingStatus.OK: 32, FindingStatus.MISSING: 33, FindingStatus.FAILED: 31}
"""Status -> foreground colour of the status's word (ECMA-48); other statuses have no colour."""


def row(finding: Finding, colors: bool = False) -> str:
    """Return a line with status and name; if the check failed, purpose, loss and mode follow on further lines.

    A fix follows if there is one, even for an optional permission.

    ``colors``: whether to colour the status.
    """
    status = f"{finding.status:<8}"
    if colors and finding.status in _COLORS:
        status = f"\033[{_COLORS[finding.status]}m{status}\033[0m"
    lines = [f"{status} {finding.name}" + (f" - {finding.detail}" if finding.detail else "")]  # details have colons
    if finding.status in (FindingStatus.MISSING, FindingStatus.FAILED):
        for word, text in (("for", finding.purpose), ("without", finding.lost), ("mode", finding.mode)):
            begin = f"{INDENT}{word:<8} "
            lines += textwrap.wrap(
                text, WIDTH, initial_indent=begin, subsequent_indent=INDENT * 2, break_on_hyphens=False
            )
    if finding.fix:
        lines.append(f"{INDENT}{'fix':<8} {finding.fix}")  # on one line, so that users can copy it
    return "\n".join(lines)


def closing(findings: Iterable[Finding]) -> str:
    """Return the last lines: the counts by status, and what the counts mean."""
    findings = tuple(findings)
    counts = Counter(finding.status for finding in findings)
    summary = ", ".join(f"{counts[status]} {status}" for status in FindingStatus if counts[status])
    meaning = {
        0: "all requirements are met",
        1: "the agent runs without the missing permissions",
        2: "the cluster was not reached",
    }[exit_code(findings)]
    if counts[FindingStatus.FAILED] and exit_code(findings) == 1:
        meaning = "correct the failed checks, then run check again"
    if used := sum(finding.in_use for finding in findings):
        meaning += f"; a second agent needs {'another address' if used == 1 else f'{used} other addresses'}"
    lines = [f"{summary}: {meaning}"]
    if any(finding.fix.startswith(ACLS) for finding in findings):
        lines.append(f"Run {ACLS} as a principal that may alter ACLs: pass its login with --command-config FILE")
        lines.append(
            "With --acl-script, check prints a script that grants all permissions, even those on hidden topics"
        )
    return "\n".join(lines)


def report(role: str, principal: str, findings: Sequence[Finding]) -> dict[str, object]:
    """Return all findings as one JSON-ready object; empty strings are left out."""
    checks = [
        {name: text for name, field in CHECK_FIELDS.items() if (text := str(getattr(finding, field)))}
        for finding in findings
    ]
    verdict = _VERDICTS[exit_code(findings)]
    return {"role": role, "principal": principal, "verdict": verdict, "checks": checks}
