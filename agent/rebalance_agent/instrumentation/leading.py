"""The generations that an instrumented consumer leads, for observers that may not read ``__consumer_offsets``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from rebalance_agent.clock import Clock
from rebalance_agent.instrumentation.event_builder import EventBuilder
from rebalance_agent.instrumentation.led_members import LedMembers
from rebalance_agent.instrumentation.suppress import logger, quietly

__all__ = ["GENERATIONS_VARIABLE", "POSTED_BYTES_MAX", "Leading", "reports_generations"]

GENERATIONS_VARIABLE = "REBALANCE_AGENT_GENERATIONS"
"""Environment variable: whether a leader reports whole generations. Off by default: records contain the same data."""

POSTED_BYTES_MAX = 250_000
"""Largest JSON (bytes) of the members of a reported generation: one event of a post may have 256 KiB."""


def reports_generations(environ: Mapping[str, str] | None = None) -> bool:
    """Whether `GENERATIONS_VARIABLE` is ``true`` (upper or lower case) or ``1``; invalid values are logged."""
    value = (os.environ if environ is None else environ).get(GENERATIONS_VARIABLE, "").strip().lower()
    if value not in ("", "0", "1", "false", "true"):
        logger.error("%s must be true or false, not %r; generations are not reported", GENERATIONS_VARIABLE, value)
    return value in ("1", "true")


class Leading:
    """Tracks one consumer from its JoinGroup response to its SyncGroup response. The methods never raise."""

    def __init__(self, builder: EventBuilder, clock: Clock) -> None:
        """Report to ``builder``, with times from ``clock``."""
        self._builder, self._clock = builder, clock
        self._led: LedMembers | None = None
        self._too_large = False

    def joined(self, members: Callable[[int], LedMembers | None]) -> None:
        """Process the answer to a JoinGroup. ``members``: current epoch ms -> the generation; None of a follower."""
        self._led = None
        with quietly("read the generation that it leads"):
            self._led = members(self._clock.now_ms())

    def assigns(self, given: Mapping[str, Any]) -> None:
        """Process the leader's assignments by member id: bytes, or a client's objects with ``encode()``."""
        led, self._led = self._led, None
        with quietly("read the assignment of the generation that it leads"):
            if led is not None:
                self._led = led.assigned({name: _encoded(value) for name, value in given.items()}, POSTED_BYTES_MAX)
                if self._led is None and not self._too_large:
                    self._too_large = True
                    text = "generations of group %s with more than %d bytes of members are not reported"
                    logger.warning(text, self._builder.group, POSTED_BYTES_MAX)

    def accepted(self, session_timeout_ms: int, rebalance_timeout_ms: int) -> None:
        """Report the generation whose assignment the coordinator accepted: its answer to the SyncGroup has no error."""
        led, self._led = self._led, None
        if led is not None:
            self._builder.led(led, self._clock.now_ms(), session_timeout_ms, rebalance_timeout_ms)


def _encoded(value: Any) -> bytes:  # noqa: ANN401 - a client's own type
    return bytes(value if isinstance(value, bytes | bytearray) else value.encode())
