"""Bytes from one socket to another inside the kernel, through a pipe: splice(2) of Linux."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

__all__ = ["PIPE_BYTES", "Pipe", "Pipes"]

PIPE_BYTES = 1 << 20
"""Room of a pipe: what an unprivileged process may ask for (/proc/sys/fs/pipe-max-size)."""

IDLE_MAX = 8
"""Pipes that are kept for the next frame: each takes two descriptors and no memory while it is empty."""

_FLAGS = getattr(os, "SPLICE_F_NONBLOCK", 0) | getattr(os, "SPLICE_F_MOVE", 0)


class Pipe:
    """A pipe that is empty between two moves."""

    def __init__(self) -> None:
        """Raises OSError when the process may open no more."""
        self._out, self._in = os.pipe()
        os.set_blocking(self._out, False)
        os.set_blocking(self._in, False)
        self.held = 0
        with contextlib.suppress(OSError):  # a user's pipes are limited in sum: a small one works, too
            fcntl.fcntl(self._in, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def fill(self, source: int, size: int) -> int | None:
        """Take up to ``size`` bytes from a socket: how many, 0 at its end, None if nothing is there yet."""
        try:
            self.held = os.splice(source, self._in, min(size, PIPE_BYTES), flags=_FLAGS)
        except (BlockingIOError, InterruptedError):
            return None
        return self.held

    def drain(self, target: int) -> bool:
        """Give what is held to a socket, as far as it has room; whether there was any."""
        try:
            self.held -= os.splice(self._out, target, self.held, flags=_FLAGS)
        except (BlockingIOError, InterruptedError):
            return False
        return True

    def close(self) -> None:
        """Let go of it."""
        os.close(self._in)
        os.close(self._out)


class Pipes:
    """Pipes of one thread."""

    def __init__(self) -> None:
        """None is open yet. On other systems than Linux there never is one."""
        self._idle: list[Pipe] = []
        self._usable = hasattr(os, "splice")

    @contextlib.contextmanager
    def pipe(self) -> Iterator[Pipe | None]:
        """An empty pipe for one move, or None where there is none to be had: then bytes must be copied."""
        pipe = self._idle.pop() if self._idle else self._opened()
        try:
            yield pipe
        finally:
            if pipe and (pipe.held or len(self._idle) >= IDLE_MAX):
                pipe.close()  # a broken move left bytes in it, or there are enough
            elif pipe:
                self._idle.append(pipe)

    def close(self) -> None:
        """Close those that are idle."""
        while self._idle:
            self._idle.pop().close()

    def _opened(self) -> Pipe | None:
        try:
            return Pipe() if self._usable else None
        except OSError:
            return None  # the process has no descriptors left; copying needs none
