"""What a member's client measured itself and pushed (KIP-714).

Maxima are those of the client's own window: about a minute in Java's client, and one push interval in librdkafka.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Annotated

from rebalance_agent.errors import InvalidInputError

__all__ = ["CLIENT_VALUE_MAX", "ClientMetrics"]

CLIENT_VALUE_MAX = 2.0**53
"""Largest value that counts: a client may push any number, and JSON readers keep whole numbers exactly up to this."""


@dataclass(frozen=True, slots=True)
class ClientMetrics:
    """The last values that a member's client pushed. A value that the client did not push is absent."""

    rebalance_seconds: Annotated[float | None, "the longest rebalance in the client's own window"] = None
    failed_rebalances: Annotated[float | None, "rebalances that failed since the client started"] = None
    poll_interval_seconds: Annotated[float | None, "the longest time between two calls to poll()"] = None
    last_poll_seconds: Annotated[float | None, "time from the last call to poll() to the push"] = None
    idle_ratio: Annotated[float | None, "share of time that the client's thread spent in poll(), from 0 to 1"] = None
    commit_seconds: Annotated[float | None, "the longest wait for the response to a commit"] = None

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            InvalidInputError: a value is negative, not finite, or larger than `CLIENT_VALUE_MAX`.
        """
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and not (math.isfinite(value) and 0 <= value <= CLIENT_VALUE_MAX):
                raise InvalidInputError(f"client_metrics.{each.name}", "must be a number from 0 to 2**53")
