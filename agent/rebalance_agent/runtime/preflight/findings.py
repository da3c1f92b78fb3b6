"""What a check finds, and what it means for all of them together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "FindingStatus", "exit_code"]


class FindingStatus(StrEnum):
    """Of one thing that was checked."""

    OK = "ok"
    MISSING = "missing"
    """A right: the agent runs degraded without it."""
    FAILED = "failed"
    SKIPPED = "skipped"
    """Not needed, or nothing can be said about it now."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One row of the report; every text is one line.

    ``purpose``: what the agent wants it for; ``detail``: what was seen, or what is wrong; ``lost``: what the agent is
    without it, in the ``mode`` of that name; ``fix``: a command, or what to do.
    """

    name: str
    status: FindingStatus
    purpose: str = ""
    detail: str = ""
    lost: str = ""
    mode: str = ""
    fix: str = ""
    reached: bool | None = None
    """Of a server: whether the cluster was reached through it."""


def exit_code(findings: Iterable[Finding]) -> int:
    """0: all that is needed is there; 1: something is missing or failed; 2: no server could be reached."""
    found = tuple(findings)
    servers = [each.reached for each in found if each.reached is not None]
    if servers and not any(servers):
        return 2
    return 1 if any(each.status in (FindingStatus.MISSING, FindingStatus.FAILED) for each in found) else 0
