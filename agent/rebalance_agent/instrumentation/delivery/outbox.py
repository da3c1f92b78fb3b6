"""A queue of encoded events, bounded in number and bytes. When it is full, the oldest events are dropped."""

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
"""Maximum size of one event. A callback with 10,000 scattered partitions takes about 60 KB."""

BATCH_BYTES_MAX = 512 * 1024
"""Maximum size of the body of one POST, newlines included."""

BATCH_EVENTS_MAX = 100
"""Maximum number of events in one POST. Events that are refused together are lost together."""

WAITING_MAX = 1_000
"""Maximum number of queued events: more than 300 rebalances of a consumer."""

WAITING_BYTES_MAX = 4 * 1024 * 1024
"""Maximum size of the queue (bytes): the memory that a consumer uses while its sidecar does not answer."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The body of one POST, its number of events, and the number of dropped events not reported yet.

    ``alive``: the id of the process, which the post reports as alive; a batch without events reports nothing else.
    """

    body: bytes
    events: int
    dropped: int
    alive: str = ""


class Outbox:
    """A queue that counts the events it dropped. Not thread-safe: its owner holds the lock."""

    def __init__(self) -> None:
        """Start empty, with nothing dropped."""
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._dropped = 0

    def put(self, line: bytes) -> None:
        """Add a JSON line without its newline; drop it if it is too long, and the oldest lines if the queue is full."""
        if len(line) > LINE_BYTES_MAX:
            self.lose(1)
            return
        self._lines.append(line)
        self._bytes += len(line)
        while len(self._lines) > WAITING_MAX or self._bytes > WAITING_BYTES_MAX:
            self._pop()
            self.lose(1)

    def take(self) -> Batch | None:
        """Remove and return the next batch, oldest events first; None if the queue is empty."""
        lines: list[bytes] = []
        size = 0
        while self._lines and len(lines) < BATCH_EVENTS_MAX and size + len(self._lines[0]) + 1 <= BATCH_BYTES_MAX:
            lines.append(self._pop())
            size += len(lines[-1]) + 1
        if not lines:
            return None
        return Batch(b"\n".join(lines) + b"\n", len(lines), self._dropped)

    def lose(self, events: int) -> None:
        """Add a number of ``events`` to the dropped ones."""
        self._dropped += events

    def reported(self, dropped: int) -> None:
        """Subtract ``dropped`` events, whose number the sidecar has received."""
        self._dropped -= dropped

    @property
    def dropped(self) -> int:
        """Number of dropped events not reported to the sidecar yet."""
        return self._dropped

    def __len__(self) -> int:
        """Number of queued events."""
        return len(self._lines)

    def _pop(self) -> bytes:
        line = self._lines.popleft()
        self._bytes -= len(line)
        return line
