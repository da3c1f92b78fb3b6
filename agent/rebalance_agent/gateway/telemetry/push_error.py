"""The reasons why the gateway refuses a push, as error codes of the protocol and as label values."""

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
    """The outcome of one push: a fixed set, for a counter's label."""

    ACCEPTED = "accepted"
    INVALID = "invalid"
    """The push is not OTLP. The client stops pushing until it is restarted."""
    THROTTLED = "throttled"
    """The push came too early, or too many clients push. The client pushes again after its next interval."""
    TOO_LARGE = "too_large"
    """The push exceeds a size limit. The client pushes again after its next interval."""
    UNKNOWN_SUBSCRIPTION = "unknown_subscription"
    """The gateway's settings have changed. The client requests the new subscription at once."""
    UNSUPPORTED_COMPRESSION = "unsupported_compression"

    @property
    def error_code(self) -> int:
        """Kafka's error code for the response to the push."""
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
    """Raised if the gateway refuses a push; the connection stays open."""

    def __init__(self, outcome: PushOutcome, text: str) -> None:
        """``text`` describes the fault, and contains no payload."""
        super().__init__(text)
        self.outcome = outcome
