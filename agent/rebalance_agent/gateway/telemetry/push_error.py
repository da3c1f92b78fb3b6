"""The reasons why the gateway refuses a push: error codes of the protocol, and label values."""

from __future__ import annotations

from enum import StrEnum

from rebalance_agent.errors import RebalanceAgentError
from rebalance_agent.groupprotocol.wire.error_codes import (
    INVALID_RECORD,
    NO_ERROR,
    TELEMETRY_TOO_LARGE,
    THROTTLING_QUOTA_EXCEEDED,
    UNKNOWN_SUBSCRIPTION_ID,
    UNSUPPORTED_COMPRESSION_TYPE,
)

__all__ = ["PushError", "PushOutcome"]


class PushOutcome(StrEnum):
    """The outcome of one push. A closed set, for a counter's label."""

    ACCEPTED = "accepted"
    INVALID = "invalid"
    """It is not OTLP. The client stops pushing until it is restarted."""
    THROTTLED = "throttled"
    """It came too early, or too many clients push. The client pushes again at its next interval."""
    TOO_LARGE = "too_large"
    """It exceeds a size limit. The client continues at its next interval."""
    UNKNOWN_SUBSCRIPTION = "unknown_subscription"
    """The settings have changed: the client asks for the new ones at once."""
    UNSUPPORTED_COMPRESSION = "unsupported_compression"

    @property
    def error_code(self) -> int:
        """Kafka's error code in the response."""
        return _CODES[self]


_CODES = {
    PushOutcome.ACCEPTED: NO_ERROR,
    PushOutcome.INVALID: INVALID_RECORD,
    PushOutcome.THROTTLED: THROTTLING_QUOTA_EXCEEDED,
    PushOutcome.TOO_LARGE: TELEMETRY_TOO_LARGE,
    PushOutcome.UNKNOWN_SUBSCRIPTION: UNKNOWN_SUBSCRIPTION_ID,
    PushOutcome.UNSUPPORTED_COMPRESSION: UNSUPPORTED_COMPRESSION_TYPE,
}


class PushError(RebalanceAgentError):
    """The gateway refuses a push; the connection and the client continue."""

    def __init__(self, outcome: PushOutcome, text: str) -> None:
        """``text`` describes the fault, without any of the payload."""
        super().__init__(text)
        self.outcome = outcome
