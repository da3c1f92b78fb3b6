"""Runs an observer, or an agent of another role, as users do, during a measurement."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from time import perf_counter, sleep

import psutil

from rebalance_agent.testing.kafka.broker_settings import free_ports

OFFSETS_PART = "offsets_topic"
"""Name of the part of /readyz that is ready when the old records of the offsets topic have been read."""

PATIENCE_S = 600.0
"""Maximum wait for any condition, in seconds."""

STOP_S = 30.0
"""Longest time (seconds) from SIGTERM to the end of an observer: several times the usual duration."""

LOG_SHOWN = 4_000
"""Characters of an observer's log that are printed if the observer ends early or does not become ready."""

STACKS_SHOWN = 20_000
"""Characters of the log that are printed if an observer does not end, with the stack of each thread."""

AS_IN_THE_IMAGE = """
import sys
sys.modules.update(dict.fromkeys(("rich", "greenlet")))
from rebalance_agent.cli.main import main
sys.exit(main())
"""
"""Program that runs the command without ``rich`` and ``greenlet``. structlog imports these packages if they are
installed, which takes 5 MiB. They are installed for development, but not in the image (``requirements/agent.lock``)."""

SHOWN = re.compile(r"^kafka_rebalance_members\{", re.MULTILINE)
GENERATION = re.compile(r"^kafka_rebalance_generation\{[^}]*\} (\d+)", re.MULTILINE)


class Observer:
    """A running observer, or a sidecar, and its pages. ``begun``: its start, by `perf_counter`."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, begun: float, log: Path) -> None:
        self.process = process
        self.begun = begun
        self._log = log
        self.port = port
        self._url = f"http://127.0.0.1:{port}"
        self._usage = psutil.Process(process.pid)

    def _get(self, path: str) -> str:
        """Return a page, with any status; empty if the observer does not answer or the page is incomplete."""
        try:
            with urllib.request.urlopen(self._url + path, timeout=30) as answer:
                return str(answer.read(), "utf-8")
        except urllib.error.HTTPError as answer:
            with answer:
                return str(answer.read(), "utf-8")
        except (OSError, HTTPException):
            return ""

    def connection(self) -> HTTPConnection:
        """Return a connection to the observer for many requests."""
        return HTTPConnection("127.0.0.1", self.port, timeout=300)

    def metrics(self) -> str:
        """Return the text of /metrics."""
        return self._get("/metrics")

    def value(self, series: str) -> float | None:
        """Return the value of ``series``, a name with labels as on the page; None if it is absent."""
        found = re.search(rf"^{re.escape(series)} (\S+)$", self.metrics(), re.MULTILINE)
        return float(found.group(1)) if found else None

    def generation_of(self, group: str) -> int | None:
        """Return the generation of a group from the API; None if the group or its generation is unknown."""
        found = json.loads(self._get(f"/api/v1/groups/{group}") or "{}")
        number = found.get("summary", {}).get("generation")
        return None if number is None else int(number)

    def size_of(self, group: str) -> tuple[int, int]:
        """Return how many members the API shows in a group, and how many partitions they are assigned together."""
        members = json.loads(self._get(f"/api/v1/groups/{group}") or "{}").get("members", [])
        return len(members), sum(member["partitions"] or 0 for member in members)

    def shown(self) -> int:
        """Return the number of groups on /metrics, whatever their source is."""
        return len(SHOWN.findall(self.metrics()))

    def generations(self) -> list[int]:
        """Return the generations of the groups on /metrics."""
        return [int(number) for number in GENERATION.findall(self.metrics())]

    def ready(self, part: str | None = None) -> bool:
        """Return whether the observer, or one part of it, is ready. The request costs little."""
        page = self._get("/readyz")
        if not page.startswith("{"):
            return False
        answer = json.loads(page)
        return bool(answer["parts"].get(part) == "ready" if part else answer["ready"])

    def wait(self, condition: Callable[[], object], seconds: float, pause: float = 0.05) -> float:
        """Wait up to ``seconds`` for the condition; return the seconds since the start of the process."""
        end = perf_counter() + seconds
        while not condition():
            if self.process.poll() is not None or perf_counter() > end:
                log = self._log.read_text(errors="replace")[-LOG_SHOWN:]
                raise SystemExit(f"{log}\nthe observer (ended: {self.process.poll()}) did not get there in {seconds} s")
            sleep(pause)
        return perf_counter() - self.begun

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of all threads so far."""
        times = self._usage.cpu_times()
        return times.user + times.system

    def rss_mib(self) -> float:
        """Return the resident memory in MiB."""
        return self._usage.memory_info().rss / 2**20

    def peak_mib(self) -> float:
        """Return the peak resident memory in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        (peak_kib,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
        return int(peak_kib) / 1024


def observer(bootstrap: str, *flags: str) -> contextlib.AbstractContextManager[Observer]:
    """Run ``rebalance-agent observe`` beside a broker, as `agent` does, with the usual settings except ``flags``."""
    return agent("observe", "--bootstrap-servers", bootstrap, *flags)


@contextlib.contextmanager
def agent(role: str, *flags: str) -> Iterator[Observer]:
    """Run ``rebalance-agent ROLE``, where ``role`` is ``observe`` or ``sidecar``.

    Raises:
        TimeoutExpired: the agent did not end within `STOP_S`; the stacks of its threads are printed.
    """
    (port,) = free_ports(1)
    command = [sys.executable, "-X", "faulthandler", "-c", AS_IN_THE_IMAGE, role]
    with tempfile.TemporaryDirectory() as folder, (path := Path(folder) / "log").open("wb") as log:
        begun = perf_counter()
        process = subprocess.Popen(
            [*command, "--listen", f"127.0.0.1:{port}", *flags], stderr=log, start_new_session=True
        )
        try:
            yield Observer(process, port, begun, path)
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGABRT)  # faulthandler writes all stacks at this signal
                process.wait()
                print(path.read_text(errors="replace")[-STACKS_SHOWN:])
                raise
