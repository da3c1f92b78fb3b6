"""One finding about a migration: what was found, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["MigrationFinding", "Subject", "Verdict"]


class Verdict(StrEnum):
    """What a finding means for an online migration."""

    BLOCKS = "blocks"
    """The broker refuses the first member with the consumer protocol while the group has members."""
    CHANGES = "changes"
    """The migration works, and something is different afterwards."""
    UNKNOWN = "unknown"
    """The available data is not sufficient to decide this."""


class Subject(StrEnum):
    """What a finding is about."""

    GROUP_TYPE = "group_type"
    PROTOCOL = "protocol"
    POLICY = "policy"
    WAY_BACK = "way_back"
    PROTOCOL_TYPE = "protocol_type"
    MALFORMED = "malformed"
    USER_DATA = "user_data"
    SIZE = "size"
    ASSIGNOR = "assignor"
    PATTERNS = "patterns"
    CLIENTS = "clients"
    STATIC = "static"
    TIMEOUTS = "timeouts"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class MigrationFinding:
    """``text``: what was found, in one sentence; ``fix``: what to do, empty for nothing.

    ``setting``: the exact setting to change, as ``name=value``; None if no setting helps.
    """

    subject: Subject
    verdict: Verdict
    text: str
    fix: str = ""
    setting: str | None = None
