"""Why the gateway ends a connection by itself: a closed set, for a metric's label and one line of the log."""

from __future__ import annotations

from enum import StrEnum

from rebalance_agent.errors import RebalanceAgentError

__all__ = ["CloseReason", "RefusedError"]


class CloseReason(StrEnum):
    """What was wrong with a connection."""

    FAILED = "failed"
    MALFORMED = "malformed"
    MISMATCHED = "mismatched"
    OVERSIZED = "oversized"
    ROOM = "room"
    SASL_V0 = "sasl_v0"
    SLOW = "slow"
    STUCK = "stuck"
    TLS = "tls"
    TRUNCATED = "truncated"
    UNREACHABLE = "unreachable"


class RefusedError(RebalanceAgentError):
    """A connection cannot go on; others do."""

    def __init__(self, refusal: CloseReason, text: str) -> None:
        """``text`` says what was seen, and where it helps what to do; never a payload."""
        super().__init__(text)
        self.refusal = refusal
