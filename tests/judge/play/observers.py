"""The judged observers: the project's command as users run it, each in a process."""

from __future__ import annotations

import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

from judge.members.account import now_ms

AGENT = Path(__file__).parents[3] / "agent"
READY_S = 120
COMMAND = (sys.executable, "-c", "import sys; from rebalance_agent.cli.main import main; sys.exit(main())")


class Observer:
    """``rebalance-agent observe`` with its log in a file; it publishes to ``topic``."""

    def __init__(self, name, context, topic, port, *flags):
        self.name, self.topic = name, topic
        self._context, self._log, self._url = context, context.folder / f"{name}.log", f"http://127.0.0.1:{port}"
        self._command = [
            *COMMAND,
            "observe",
            "--bootstrap-servers",
            context.kafka.bootstrap_servers,
            "--events-topic",
            topic,
            "--listen",
            f"127.0.0.1:{port}",
            *flags,
        ]
        self._process = None

    def start(self):
        """Start the observer."""
        self._context.acts.note("observer started", observer=self.name)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(AGENT), "HOME": str(Path.home())},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        threading.Thread(target=self._note_ready, daemon=True).start()

    def _note_ready(self):
        if self.wait_ready():
            self._context.acts.note("observer ready", observer=self.name)

    def wait_ready(self):
        """Wait until /readyz answers 200; return whether it did."""
        pause, until = threading.Event(), now_ms() + READY_S * 1000
        while now_ms() < until and self.running:
            if self._get("/readyz") is not None:
                return True
            pause.wait(0.2)
        return False

    @property
    def running(self):
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def kill(self):
        """Send SIGKILL."""
        self._context.acts.note("observer killed", observer=self.name)
        self._process.kill()
        self._process.wait()

    def end(self):
        """Send SIGTERM, as an operator does, and wait for the end."""
        if self.running:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def scrape(self):
        """Save /metrics."""
        text = self._get("/metrics")
        self._context.acts.note("scraped", observer=self.name)
        (self._context.folder / f"{self.name}.metrics").write_text(text or "")

    def _get(self, path):
        try:
            with urllib.request.urlopen(self._url + path, timeout=5) as answer:
                return answer.read().decode()
        except (OSError, urllib.error.URLError, ValueError):
            return None
