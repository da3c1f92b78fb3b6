"""Controls a guarded Java process from the parent: start, stop, exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

__all__ = ["GuardedProcess", "guard_command", "java_environment", "kill_group"]

_GUARD = Path(__file__).with_name("guard.py")
# The user's settings for other Java programs: some print to standard error, others prevent the start.
_FOREIGN_ENVIRONMENT = ("CLASSPATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
KILL_WAIT_S = 5.0
"""Seconds to wait for the end after SIGKILL, which usually takes milliseconds. After that, the guard counts as hung."""


def guard_command(options: Sequence[str], command: Sequence[str]) -> list[str]:
    """Return the command line that runs ``command`` under a guard of this process."""
    return [sys.executable, "-I", "-S", str(_GUARD), "--parent", str(os.getpid()), *options, "--", *command]


def java_environment() -> dict[str, str]:
    """Return the environment of this process without variables that change how Java starts."""
    return {name: value for name, value in os.environ.items() if name not in _FOREIGN_ENVIRONMENT}


def kill_group(guard: subprocess.Popen[Any]) -> None:
    """Kill a guard and its Java process, which are one process group, if they still run."""
    with suppress(ProcessLookupError, PermissionError):  # macOS refuses a group that has only zombies
        os.killpg(guard.pid, signal.SIGKILL)


class GuardedProcess:
    """A Java process under its guard.

    A thread reads the guard's reports. If the guard is killed, that thread kills the process group of guard and Java,
    so that Java outlives its guard by milliseconds. Java remains only if guard and parent are killed within that time.
    """

    def __init__(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str], remove: Sequence[Path]
    ) -> None:
        """Start ``command`` with both outputs appended to ``log``. ``remove`` is deleted if this process is killed."""
        options = ["--log", str(log), *(part for path in remove for part in ("--remove", str(path)))]
        self._guard = subprocess.Popen(  # noqa: S603 - our own command line
            guard_command(options, command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            start_new_session=True,
            bufsize=0,
        )
        self._commands = cast("IO[bytes]", self._guard.stdin)  # unbuffered: a command is one write
        self._reports = cast("IO[bytes]", self._guard.stdout)
        self._running = threading.Event()
        self.exited = threading.Event()
        """Set once Java has ended and was waited for."""
        self.exit_code: int | None = None
        """Java's exit status after `exited`: negative for a signal, None if the guard was killed before it reported."""
        self._pid: int | None = None
        threading.Thread(target=self._listen, name=f"guard-{self._guard.pid}", daemon=True).start()

    @property
    def pid(self) -> int | None:
        """Java's process id; None if Java never ran."""
        self._running.wait()
        return self._pid

    @property
    def guard_pid(self) -> int:
        """The guard's process id, which is also the process group id of both."""
        return self._guard.pid

    def terminate(self) -> None:
        """Send SIGTERM to Java, for a clean stop."""
        self._send(b"t")

    def kill(self) -> None:
        """Send SIGKILL to Java and wait for its end."""
        self._send(b"k")
        if not self.exited.wait(KILL_WAIT_S):
            kill_group(self._guard)
            self.exited.wait(KILL_WAIT_S)

    def _send(self, command_byte: bytes) -> None:
        # A broken pipe means that the guard has ended; then the reading thread kills Java.
        with suppress(BrokenPipeError, ValueError):
            self._commands.write(command_byte)

    def _listen(self) -> None:
        for line in self._reports:
            word, _, number = line.decode().partition(" ")
            if word == "pid":
                self._pid = int(number)
                self._running.set()
            elif word == "exit":
                self.exit_code = int(number)
        # This comes before the wait for the guard: while the guard is a zombie, its id cannot be reused.
        kill_group(self._guard)
        self._guard.wait()
        for pipe in (self._commands, self._reports):
            pipe.close()
        self._running.set()
        self.exited.set()
