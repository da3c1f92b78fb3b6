"""A fleet observer as users run it, for as long as a measurement takes."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, sleep

import psutil

from rebalance_agent.testing.settings import free_ports


class Observer:
    """The running process and its /metrics."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self._url = f"http://127.0.0.1:{port}/metrics"
        self._usage = psutil.Process(process.pid)

    def metrics(self) -> str:
        """The page, or nothing while it is not up yet."""
        try:
            with urllib.request.urlopen(self._url, timeout=5) as answer:
                return answer.read().decode()
        except urllib.error.URLError:
            return ""

    def value(self, series: str) -> float | None:
        """The value of one series, given as it is written on the page; None where it is absent."""
        found = re.search(rf"^{re.escape(series)} (\S+)$", self.metrics(), re.MULTILINE)
        return float(found.group(1)) if found else None

    def wait_until(self, series: str, least: float, seconds: float, pause: float = 0.05) -> None:
        """Wait until a series is at least this high."""
        end = perf_counter() + seconds
        while (self.value(series) or 0) < least:
            if self.process.poll() is not None or perf_counter() > end:
                raise SystemExit(f"{series} did not reach {least} in {seconds} s (observer: {self.process.poll()})")
            sleep(pause)

    def cpu_seconds(self) -> float:
        """CPU time so far."""
        times = self._usage.cpu_times()
        return times.user + times.system

    def rss_mib(self) -> float:
        """Memory now."""
        return self._usage.memory_info().rss / 2**20


@contextlib.contextmanager
def observer(bootstrap: str, *flags: str) -> Iterator[Observer]:
    """Run ``rebalance-agent observe`` beside a broker."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "rebalance_agent.cli.main", "observe", "--bootstrap-servers", bootstrap]
    command += ["--state-topic", ""]  # each one starts anew, unless flags say otherwise
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("wb") as log:
        process = subprocess.Popen([*command, "--listen", f"127.0.0.1:{port}", *flags], stderr=log)
        try:
            yield Observer(process, port)
        finally:
            process.terminate()
            process.wait(30)
