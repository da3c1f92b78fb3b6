"""Events that wait to be sent, bounded in number and bytes. When it is full the oldest go: news is worth more."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

__all__ = [
    "BATCH_BYTES_MAX",
    "BATCH_EVENTS_MAX",
    "LINE_BYTES_MAX",
    "WAITING_BYTES_MAX",
    "WAITING_MAX",
    "Batch",
    "Outbox",
]

LINE_BYTES_MAX = 256 * 1024
"""One event. A callback with 10,000 scattered partitions is about 60 KB."""

BATCH_BYTES_MAX = 512 * 1024
"""One POST, newlines included."""

BATCH_EVENTS_MAX = 100
"""Events of one POST: what is refused together is lost together."""

WAITING_MAX = 1_000
"""Events that wait: more than 300 rebalances of a consumer."""

WAITING_BYTES_MAX = 4 * 1024 * 1024
"""Memory that a consumer may lose to a sidecar that is away."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The body of one POST, the number of events in it, and how many were dropped before it and not yet reported.

    ``alive``: the id of the process, where all that it says is that the process lives.
    """

    body: bytes
    events: int
    dropped: int
    alive: str = ""


class Outbox:
    """A plain queue with an account of what it lost. Not thread-safe: its owner holds the lock."""

    def __init__(self) -> None:
        """Start empty, with nothing lost."""
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._dropped = 0

    def put(self, line: bytes) -> None:
        """Add one JSON line (without its newline); make room by dropping the oldest."""
        if len(line) > LINE_BYTES_MAX:
            self.lose(1)
            return
        self._lines.append(line)
        self._bytes += len(line)
        while len(self._lines) > WAITING_MAX or self._bytes > WAITING_BYTES_MAX:
            self._pop()
            self.lose(1)

    def take(self) -> Batch | None:
        """Remove the next batch, oldest first; None when nothing waits."""
        lines: list[bytes] = []
        size = 0
        while self._lines and len(lines) < BATCH_EVENTS_MAX and size + len(self._lines[0]) + 1 <= BATCH_BYTES_MAX:
            lines.append(self._pop())
            size += len(lines[-1]) + 1
        if not lines:
            return None
        return Batch(b"\n".join(lines) + b"\n", len(lines), self._dropped)

    def lose(self, events: int) -> None:
        """Count events that will never be sent."""
        self._dropped += events

    def reported(self, dropped: int) -> None:
        """The other side has been told of so many dropped events."""
        self._dropped -= dropped

    @property
    def dropped(self) -> int:
        """Events lost and not yet reported."""
        return self._dropped

    def __len__(self) -> int:
        """How many events wait."""
        return len(self._lines)

    def _pop(self) -> bytes:
        line = self._lines.popleft()
        self._bytes -= len(line)
        return line
