"""Starts the demo's child processes, sends lines to them, and ends them all.

Each child has its own session, so a Ctrl-C in the terminal reaches only the demo, which ends the children in order.
Each child also watches its standard input (`exit_with_parent`), so it ends even if the demo gets SIGKILL.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.demo.errors import DemoError

__all__ = ["Child", "Children", "tail"]

STOP_SECONDS = 3.0
"""Seconds for a clean end of all children together, before SIGKILL."""

TAIL_LINES = 15
"""Number of a log's last lines at the end of an error message."""

TAIL_BYTES = 16_384
"""Number of bytes to read from a log for these lines."""


@dataclass(slots=True)
class Child:
    """One process. ``ending``: whether it was asked to end, so that its end is not a failure."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    ending: bool = False


class Children(AbstractContextManager["Children"]):
    """The processes that the demo has started, by name; a context manager that ends them all."""

    def __init__(self, directory: Path, clock: Clock | None = None) -> None:
        """Write logs to ``directory``/NAME.log; a second process with the same name appends to the first one's log."""
        self.directory = directory
        self._clock: Clock = clock or SystemClock()
        self._children: dict[str, Child] = {}
        self._former: list[Child] = []

    def __exit__(self, *_exc: object) -> None:
        """End every child."""
        self.stop_all()

    def start(self, name: str, module: str, *arguments: str) -> Child:
        """Run ``python -m module arguments``; ``module`` calls `watch_stdin`, or is run by `exit_with_parent`.

        Raises:
            DemoError: a process with that name is running, or the system cannot start another one.
        """
        if name in self._children:
            self._retire(self._children[name])
        log = self.directory / f"{name}.log"
        try:
            with log.open("ab") as output:
                process = subprocess.Popen(  # noqa: S603 - the modules are part of this package
                    # -P: a folder "kafka" in the working directory must not be imported.
                    [sys.executable, "-P", "-m", module, *arguments],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    env={**os.environ, "PYTHONUNBUFFERED": "1"},
                    start_new_session=True,
                )
        except OSError as error:
            raise DemoError(f"cannot start {name}: {error}") from error
        child = self._children[name] = Child(name, process, log)
        return child

    def _retire(self, child: Child) -> None:
        try:
            child.process.wait(STOP_SECONDS if child.ending else 0)
        except subprocess.TimeoutExpired:
            raise DemoError(f"{child.name} is already running") from None
        self._former.append(self._children.pop(child.name))

    def send(self, name: str, line: str) -> None:
        """Write one line to the child's standard input; does nothing if the child has ended."""
        stdin = self._children[name].process.stdin
        with suppress(BrokenPipeError):
            if stdin is not None:
                stdin.write(line.encode() + b"\n")
                stdin.flush()

    def leave(self, name: str) -> None:
        """Send the child the command ``leave``, after which it ends by itself."""
        self._children[name].ending = True
        self.send(name, "leave")

    def kill(self, name: str) -> None:
        """End the child with SIGKILL and wait for its end."""
        child = self._children[name]
        child.ending = True
        child.process.kill()
        child.process.wait()

    def require_alive(self) -> None:
        """Check that no child has ended without being asked to.

        Raises:
            DemoError: a child has ended; the message has the child's exit code and the end of its log.
        """
        for child in self._children.values():
            if not child.ending and (code := child.process.poll()) is not None:
                raise DemoError(f"{child.name} ended with {code}; {tail(child.log)}")

    @property
    def pids(self) -> dict[str, int]:
        """Return the process ids of the running children, by name."""
        return {name: child.process.pid for name, child in self._children.items() if child.process.poll() is None}

    def stop_all(self) -> None:
        """Send SIGTERM to all children, and SIGKILL `STOP_SECONDS` later; return when all have ended."""
        children = [*self._children.values(), *self._former]
        for child in children:
            child.ending = True
            child.process.terminate()  # does nothing to a child that has ended
        deadline = self._clock.monotonic() + STOP_SECONDS
        for child in children:
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(max(0.0, deadline - self._clock.monotonic()))
        for child in children:
            child.process.kill()
            child.process.wait()
            if child.process.stdin is not None:
                with suppress(OSError):
                    child.process.stdin.close()


def tail(log: Path) -> str:
    """Return the path of the log and its last lines, as text for an error message."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).decode(errors="replace").splitlines()[-TAIL_LINES:]
    except OSError:
        lines = []
    return "\n".join([f"the end of {log}:", *(f"  {line}" for line in lines)])
