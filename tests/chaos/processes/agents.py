"""The observer and the sidecar under test, as processes that can be killed, paused, starved and restarted."""

from __future__ import annotations

import contextlib
import json
import re
import resource
import signal
import subprocess
import threading
import urllib.request
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

from chaos.processes.programs import ENVIRONMENT, EXIT_WITH_PARENT
from rebalance_agent.clock import SystemClock
from support.observer.observing import PATIENCE_S

SCRAPE_S = 1.0
LOADED = "snapshots_loaded"
MEMORY_MIB = {"observe": 512, "sidecar": 256, "gateway": 256}
PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


class Agent:
    """One role as a process; ``lives`` are its processes so far, the last one perhaps running.

    ``memory_mib``: the limit of the chart; ``name``: of its files, by default the role; ``variables``: of the
    environment of a process with this name.
    """

    def __init__(self, folder, role, flags, name=None, variables=lambda _process: {}):
        self.folder, self.lives, self.memory_mib = folder, [], MEMORY_MIB[role]
        self._role, self._flags, self._name, self._variables = role, flags, name or role, variables
        self._clock_file = folder / f"{self._name}.clock"
        self._clock_file.write_text("0")

    def start(self):
        """Start another process, without waiting until it is ready."""
        name = f"{self._name}-{len(self.lives) + 1}"
        self.lives.append(Life(self.folder, self._role, name, self._flags, self._clock_file, self._variables(name)))

    @property
    def life(self):
        """The process that was started last."""
        return self.lives[-1]

    def set_clock(self, milliseconds):
        """Set the error of its clock."""
        whole = self._clock_file.with_suffix(".new")
        whole.write_text(str(round(milliseconds)))
        whole.replace(self._clock_file)  # the process may read it at any time

    def end(self):
        """Stop it as an operator does."""
        if self.lives and self.life.running:
            self.life.stop()


@dataclass(frozen=True)
class Scraped:
    """The text of /metrics, and the time of the request (epoch ms).

    ``written``: size of the file of events at the request of the previous scrape: this scrape counts all of that.
    """

    at_ms: int
    text: str = field(repr=False)
    written: int


class Life:
    """One process. ``scrapes``: the last two of its /metrics; ``killed`` or ``stopped``: the run ended it."""

    def __init__(self, folder, role, name, flags, clock_file, variables):
        self.name = name
        self.events, self.log = folder / f"{self.name}.ndjson", folder / f"{self.name}.log"
        self.scrapes, self.port, self.killed, self.stopped = [], None, False, False
        self._written, self._starved, self._lived_s, self._peak_mib = 0, False, None, 0.0
        flags = [*flags, "--listen=127.0.0.1:0", "--log-format=json"]
        if role == "observe":
            flags.append(f"--events-file={self.events}")
        self._process = subprocess.Popen(
            [*EXIT_WITH_PARENT, "support.observer.stepped_clock", str(clock_file), role, *flags],
            env={**ENVIRONMENT, **variables},
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._clock, self._ended, self._past = SystemClock(), threading.Event(), threading.Event()
        self._began = self._clock.monotonic()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._read, self._scrape)]
        for thread in self._threads:
            thread.start()

    @property
    def running(self):
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def lived_s(self):
        """Seconds from its start until now or its end."""
        return self._clock.monotonic() - self._began if self._lived_s is None else self._lived_s

    @property
    def died(self):
        """Return how the process ended, if it ended by itself or not as after SIGTERM; None otherwise."""
        if self.running or self.killed:
            return None
        # Before it listens it may still be importing what it needs, without a handler of its own.
        code, fine = self._process.returncode, (0, -signal.SIGTERM) if self.port is None else (0,)
        if self.stopped and code in fine:
            return None
        how = "on SIGTERM" if self.stopped else "by itself"
        return f"{self.name} ended {how} with exit code {code}: see {self.log}"

    @property
    def pid(self):
        """The process id."""
        return self._process.pid

    def peak_mib(self):
        """The peak resident memory (MiB); for an ended process, until the last scrape."""
        with contextlib.suppress(OSError):
            if found := PEAK.search(Path(f"/proc/{self.pid}/status").read_text()):
                self._peak_mib = max(self._peak_mib, int(found[1]) / 1024)
        return self._peak_mib

    def ready(self):
        """Whether it reports that it is ready."""
        return self.running and self.port is not None and self._get("/readyz") is not None

    def reads_past(self, seconds=PATIENCE_S):
        """Wait until an observer has begun to read the records from before its start; return whether it has."""
        return self._past.wait(seconds)

    def kill(self):
        """Send SIGKILL; a process that had ended before still counts as ended by itself."""
        self.killed = self.killed or self.running
        self._process.kill()
        self._wait()

    def stop(self):
        """Send SIGTERM and wait for the end."""
        self.stopped = self.running
        self._process.send_signal(signal.SIGCONT)
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGABRT)  # on which faulthandler writes into the log what each thread does
            self._wait()
            raise AssertionError(f"{self.name} did not end on SIGTERM within {PATIENCE_S} s: see {self.log}") from None
        self._wait()

    def send(self, number):
        """Send a signal."""
        self._process.send_signal(number)

    def limit_memory(self, more):
        """Limit the process to this many more bytes of address space than it has now; None: no limit."""
        if not self.running:
            return
        most = resource.RLIM_INFINITY
        if more is not None:
            self.killed = self._starved = True  # its end, of whatever kind, is due to the fault
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[0])
            most = pages * resource.getpagesize() + more
        with contextlib.suppress(ProcessLookupError):  # it has ended since
            resource.prlimit(self.pid, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))

    def scrape(self):
        """Scrape /metrics. A scrape of a process without memory, or one that stops and closed its file, is not kept."""
        at_ms, written = self._clock.now_ms(), self.events.stat().st_size if self.events.exists() else 0
        text = self._get("/metrics")
        if text is not None and not self._starved and not self.stopped:
            self.scrapes = [*self.scrapes[-1:], Scraped(at_ms, text, self._written)]
            self._written = written

    def readings(self):
        """Each start of reading by an observer: the partitions with a snapshot, and all partitions."""
        return [(each["partitions"], each["of"]) for each in logged(self.log, LOADED)]

    def _wait(self):
        self._process.wait(PATIENCE_S)
        self._lived_s = self.lived_s
        self._ended.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        self._process.stdin.close()
        self._process.stderr.close()

    def _read(self):
        with self.log.open("w") as log:
            for line in self._process.stderr:
                log.write(line)
                log.flush()
                if not self._past.is_set():
                    self._take_line(line)

    def _take_line(self, line):
        reported = _said(line)
        if reported.get("event") == "listening":
            self.port = reported["port"]
        elif reported.get("event") == LOADED:
            self._past.set()

    def _scrape(self):
        while not self._ended.wait(SCRAPE_S):
            self.peak_mib()
            if self.port is not None and self.running:
                self.scrape()

    def _get(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.read().decode()
        except (OSError, HTTPException, ValueError):  # gone in the middle of an answer, too
            return None


def logged(log, event):
    """The parsed lines of a file of logs that have this event."""
    said = (_said(line) for line in log.read_text().splitlines() if event in line)
    return [each for each in said if each.get("event") == event]


def _said(line):
    """A parsed line of the log; empty for other lines: tracebacks, or the last line of a killed process."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
