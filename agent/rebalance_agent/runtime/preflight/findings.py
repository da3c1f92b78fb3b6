"""The result of one check, and the exit code for all results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "FindingStatus", "exit_code", "failed", "in_use", "passed", "skipped"]


class FindingStatus(StrEnum):
    """The result of one check."""

    OK = "ok"
    MISSING = "missing"
    """A permission is missing: the agent runs degraded without it."""
    FAILED = "failed"
    SKIPPED = "skipped"
    """The permission, server or file is not needed, or cannot be checked now."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One row of the report; every text has one line.

    ``purpose``: why the agent needs what was checked; ``detail``: the observation or the problem; ``lost``: what the
    agent cannot do if it is missing, in the degraded ``mode``; ``fix``: a command or instruction.
    """

    name: str
    status: FindingStatus
    purpose: str = ""
    detail: str = ""
    lost: str = ""
    mode: str = ""
    fix: str = ""
    reached: bool | None = None
    """Whether the cluster was reached through this server; None if the check is not about a server."""
    in_use: bool = False
    """Whether the check is about an address that a running agent uses."""


def failed(name: str, detail: str, fix: str, purpose: str = "", *, reached: bool | None = None) -> Finding:
    """Return the finding of a check that failed."""
    return Finding(name, FindingStatus.FAILED, purpose, detail, fix=fix, reached=reached)


def skipped(name: str, detail: str) -> Finding:
    """Return the finding of a check that is not needed, or cannot be made now."""
    return Finding(name, FindingStatus.SKIPPED, detail=detail)


def in_use(name: str, detail: str) -> Finding:
    """Return the finding about an address that a running agent uses: it fails only for a second agent."""
    return Finding(name, FindingStatus.SKIPPED, detail=detail, in_use=True)


def passed(name: str, detail: str, purpose: str = "", *, reached: bool | None = None) -> Finding:
    """Return the finding of a check that succeeded."""
    return Finding(name, FindingStatus.OK, purpose, detail, reached=reached)


def exit_code(findings: Iterable[Finding]) -> int:
    """Return 0 if all requirements are met, 1 if one is missing or failed, 2 if no server could be reached."""
    findings = tuple(findings)
    servers = [finding.reached for finding in findings if finding.reached is not None]
    if servers and not any(servers):
        return 2
    return 1 if any(finding.status in (FindingStatus.MISSING, FindingStatus.FAILED) for finding in findings) else 0
