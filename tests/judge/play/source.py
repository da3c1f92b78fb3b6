"""Runs the process that produces records for all groups, so that members have work."""

from __future__ import annotations

import subprocess
import sys

from judge.play.member import PROGRAMS, started

ENDED_S = 10


class Source:
    """`producer` for all topics of the groups; it logs in ``source.ndjson`` when it was late."""

    def __init__(self, context, groups):
        config = {
            "bootstrap": context.kafka.bootstrap_servers,
            "prefixes": [f"{group.name}-" for group in groups],
            "file": str(context.folder / "source.ndjson"),
        }
        self._popen = started(context.folder, [sys.executable, str(PROGRAMS / "producer.py")], config)

    def end(self):
        """Stop the process."""
        self._popen.stdin.close()
        try:
            self._popen.wait(ENDED_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
