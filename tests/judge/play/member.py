"""Runs a member in its own process, with its log in a file, and records the run's actions on it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from judge.members.account import now_ms

PROGRAMS = Path(__file__).parents[1] / "members"
ENVIRONMENT = {**os.environ, "PYTHONPATH": "", "PYTHONDONTWRITEBYTECODE": "1"}
ENDED_S = 70


def started(folder, program, config):
    """Start a program with its configuration; the process ends with its standard input."""
    with (folder / "members" / "errors.log").open("ab") as errors:
        return subprocess.Popen(
            [*program, json.dumps(config)],
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=errors,
            stderr=errors,
            text=True,
            start_new_session=True,
        )


class Acts:
    """The actions of the run, a JSON line each, written just before the action."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def note(self, do, **more):
        """Write an action."""
        os.write(self._file, json.dumps({"at": round(now_ms(), 1), "do": do, **more}).encode() + b"\n")


class Member:
    """One member's process. ``name``: its client id; ``file``: its account; ``settings``: its own, in addition."""

    def __init__(self, group, name, context, instance="", settings=None):
        self.group, self.name, self._acts = group, name, context.acts
        number = context.number(name)
        self.process = f"{name}.{number}"
        self.file = context.folder / "members" / f"{group.name}~{self.process}.ndjson"
        config = {
            "bootstrap": context.kafka.bootstrap_servers,
            "group": group.name,
            "name": name,
            "instance": instance,
            "topics": group.topics,
            "pattern": f"^{group.name}-t.*" if group.pattern else "",
            "file": str(self.file),
            "folder": str(context.folder),
            "commit_ms": group.commit_ms,
            "settings": {**group.settings, **(settings or {})},
            "class_path": context.class_path,
            "jvm": context.jvm,
        }
        program = (
            [context.go_member] if group.program == "go" else [sys.executable, str(PROGRAMS / f"{group.program}.py")]
        )
        self._note("start")
        self._popen = started(context.folder, program, config)

    def _note(self, do, **more):
        self._acts.note(do, group=self.group.name, member=self.name, process=self.process, **more)

    @property
    def running(self):
        """Whether the process runs."""
        return self._popen.poll() is None

    def send(self, do, **more):
        """Send a command, see `account.Commands`."""
        self._note(do, **more)
        with contextlib.suppress(OSError, ValueError):
            self._popen.stdin.write(json.dumps({"do": do, **more}) + "\n")
            self._popen.stdin.flush()

    def kill(self):
        """Send SIGKILL."""
        self._note("kill")
        self._popen.kill()
        self.end()

    def stop(self):
        """Send SIGSTOP: the process stops, with its connections open."""
        self._note("stop")
        self._popen.send_signal(signal.SIGSTOP)

    def go_on(self):
        """Send SIGCONT."""
        self._note("cont")
        self._popen.send_signal(signal.SIGCONT)

    def close(self):
        """Make the member leave its group and end."""
        self.send("close")
        self.end()

    def end(self):
        """Wait for the end of the process; kill it if it does not end."""
        try:
            self._popen.wait(ENDED_S)
        except subprocess.TimeoutExpired:
            self._note("kill")
            self._popen.kill()
            self._popen.wait()
        with contextlib.suppress(OSError):
            self._popen.stdin.close()
