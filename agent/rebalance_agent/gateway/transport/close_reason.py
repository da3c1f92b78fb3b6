"""The reasons why the gateway closes a connection: a fixed set, for a metric's label and for the log."""

from __future__ import annotations

from enum import StrEnum

from rebalance_agent.errors import RebalanceAgentError

__all__ = ["CloseReason", "RefusedError"]


class CloseReason(StrEnum):
    """Reasons, as label values."""

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
    """The gateway closes one connection; other connections continue."""

    def __init__(self, refusal: CloseReason, text: str) -> None:
        """``text`` describes the fault and, if possible, its solution; it never contains payload."""
        super().__init__(text)
        self.refusal = refusal
