"""One describing process, which gets requests on its input and writes answers to its output, with deadlines."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, cast

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.describing.answer_lines import END

__all__ = ["ProcessEndedError", "RunningProcess"]

_READ_MAX = 1 << 16


class ProcessEndedError(Exception):
    """The process ended before its answer was complete."""


class RunningProcess:
    """A started process. Not thread-safe."""

    def __init__(self, arguments: Sequence[str], properties: Mapping[str, str], clock: Clock, seconds: float) -> None:
        """Start the interpreter with ``arguments``, and write ``properties``.

        Raises: OSError: the process cannot be started. ProcessEndedError: the process ended. TimeoutError: the process
        did not confirm the properties within ``seconds``.
        """
        self._clock, self._read = clock, b""
        # In a separate session, so that Ctrl-C in a terminal reaches only the parent, which ends this process.
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        self._requests, self._answers = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        try:
            self.exchange(json.dumps(properties).encode() + b"\n", seconds)
        except (ProcessEndedError, TimeoutError):
            self.end()
            raise

    def exchange(self, request: bytes, seconds: float) -> list[bytes]:
        """Write ``request``, and return the lines of its answer within ``seconds``.

        Raises: ProcessEndedError: the process ended. TimeoutError: the process did not answer in time; the caller must
        end it.
        """
        deadline = self._clock.monotonic() + seconds
        try:
            self._requests.write(request)
        except BrokenPipeError:
            raise ProcessEndedError from None
        lines = self._lines(deadline)
        return list(iter(lambda: next(lines), END.rstrip()))

    def _lines(self, deadline: float) -> Iterator[bytes]:
        pipe = self._answers.fileno()
        while True:
            *lines, self._read = self._read.split(b"\n")
            yield from lines
            if not select.select([pipe], [], [], max(0.0, deadline - self._clock.monotonic()))[0]:
                raise TimeoutError
            if not (part := os.read(pipe, _READ_MAX)):
                raise ProcessEndedError
            self._read += part

    def ended(self) -> bool:
        """Return whether the process has ended: after a time without requests, or because of a late answer."""
        return self._process.poll() is not None

    def end(self) -> None:
        """Kill the process, and close its pipes."""
        self._process.kill()
        self._process.communicate()
