"""Moves bytes from one socket to another inside the kernel, through a pipe (Linux's splice(2))."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

__all__ = ["PIPE_BYTES", "Pipe", "Pipes"]

PIPE_BYTES = 1 << 20
"""Capacity of a pipe: the maximum for an unprivileged process (/proc/sys/fs/pipe-max-size)."""

IDLE_MAX = 8
"""Maximum number of idle pipes kept for later frames: each pipe takes two descriptors, and no memory while it is
empty."""

_FLAGS = getattr(os, "SPLICE_F_NONBLOCK", 0) | getattr(os, "SPLICE_F_MOVE", 0)


class Pipe:
    """A pipe that is empty between two moves; ``held``: the number of bytes in the pipe."""

    def __init__(self) -> None:
        """Open the pipe. Raises OSError if the process has no descriptors left."""
        self._out, self._in = os.pipe()
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)
        self.held = 0
        with contextlib.suppress(OSError):  # the total size of a user's pipes is limited; a small pipe also works
            fcntl.fcntl(self._in, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def fill(self, source: int, size: int) -> int | None:
        """Read up to ``size`` bytes from a socket; return their number: 0 at the end, None if no bytes have arrived."""
        try:
            self.held = os.splice(source, self._in, min(size, PIPE_BYTES), flags=_FLAGS)
        except (BlockingIOError, InterruptedError):
            return None
        return self.held

    def drain(self, target: int) -> bool:
        """Write as many held bytes to a socket as it accepts; return whether it accepted any."""
        try:
            self.held -= os.splice(self._out, target, self.held, flags=_FLAGS)
        except (BlockingIOError, InterruptedError):
            return False
        return True

    def close(self) -> None:
        """Close both ends."""
        os.close(self._in)
        os.close(self._out)


class Pipes:
    """A pool of pipes for one thread."""

    def __init__(self) -> None:
        """Start without pipes. On systems other than Linux, no pipe is ever opened."""
        self._idle: list[Pipe] = []
        self._usable = hasattr(os, "splice")

    @contextlib.contextmanager
    def pipe(self) -> Iterator[Pipe | None]:
        """Yield an empty pipe for one move, or None if no pipe can be opened and bytes must be copied."""
        pipe = self._idle.pop() if self._idle else self._opened()
        try:
            yield pipe
        finally:
            if pipe and (pipe.held or len(self._idle) >= IDLE_MAX):
                pipe.close()  # a failed move left bytes in it, or the pool is full
            elif pipe:
                self._idle.append(pipe)

    def close(self) -> None:
        """Close the idle pipes."""
        while self._idle:
            self._idle.pop().close()

    def _opened(self) -> Pipe | None:
        try:
            return Pipe() if self._usable else None
        except OSError:
            return None  # the process has no descriptors left; copying needs none
