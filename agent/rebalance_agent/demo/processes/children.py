"""The demo's processes: start, speak to, kill by process id, and none of them stays.

Each child has a session of its own, so that a Ctrl-C in the terminal reaches the demo alone, which decides what ends
when; and each is on a leash (`rebalance_agent.demo.processes.leash`), so that it ends even if the demo gets SIGKILL.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.demo.errors import DemoError

__all__ = ["Child", "Children", "tail"]

STOP_SECONDS = 3.0
"""Time for a clean end of all children together, before SIGKILL."""

TAIL_LINES = 15
TAIL_BYTES = 16_384


@dataclass(slots=True)
class Child:
    """One process. ``ending``: it was told to end, so its end is no failure."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    ending: bool = False


class Children:
    """All processes that the demo has started, by name. A context manager that ends them all."""

    def __init__(self, directory: Path, clock: Clock | None = None) -> None:
        """Logs go to ``directory``/NAME.log; a second process of a name appends to its predecessor's."""
        self.directory = directory
        self._clock: Clock = clock or SystemClock()
        self._children: dict[str, Child] = {}
        self._former: list[Child] = []

    def __enter__(self) -> Self:
        """Nothing to do: children start one by one."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every child."""
        self.stop_all()

    def start(self, name: str, module: str, *arguments: str) -> Child:
        """Run ``python -m module arguments``; ``module`` must hold the leash, or be run through it.

        Raises:
            DemoError: a process of that name runs, or the system cannot start another one.
        """
        if name in self._children:
            self._retire(self._children[name])
        log = self.directory / f"{name}.log"
        try:
            with log.open("ab") as output:
                process = subprocess.Popen(  # noqa: S603 - our own modules
                    # -P: a folder "kafka" where the user happens to stand must not be imported.
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
            raise DemoError(f"{child.name} runs already") from None
        self._former.append(self._children.pop(child.name))

    def tell(self, name: str, line: str) -> None:
        """Write one line to the child's standard input. A child that has ended does not hear it."""
        stdin = self._children[name].process.stdin
        with suppress(BrokenPipeError):
            if stdin is not None:
                stdin.write(line.encode() + b"\n")
                stdin.flush()

    def leave(self, name: str) -> None:
        """Tell the child to finish by itself (``leave``)."""
        self._children[name].ending = True
        self.tell(name, "leave")

    def kill(self, name: str) -> None:
        """SIGKILL."""
        child = self._children[name]
        child.ending = True
        child.process.kill()
        child.process.wait()

    def require_alive(self) -> None:
        """Raise DemoError if a child has ended that nobody told to."""
        for child in self._children.values():
            if not child.ending and (code := child.process.poll()) is not None:
                raise DemoError(f"{child.name} ended with {code}; {tail(child.log)}")

    @property
    def pids(self) -> dict[str, int]:
        """Process ids of the children that run, by name."""
        return {name: child.process.pid for name, child in self._children.items() if child.process.poll() is None}

    def stop_all(self) -> None:
        """SIGTERM to all, SIGKILL to those that still run `STOP_SECONDS` later; returns when none is left."""
        children = [*self._children.values(), *self._former]
        for child in children:
            child.ending = True
            child.process.terminate()  # does nothing to one that has ended
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
    """Where the log is, and its last lines."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).decode(errors="replace").splitlines()[-TAIL_LINES:]
    except OSError:
        lines = []
    return "\n".join([f"the end of {log}:", *(f"  {line}" for line in lines)])
