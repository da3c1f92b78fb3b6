"""A real Prometheus that scrapes observer, sidecar and gateways during the demo, once a session.

Boards and alerts are tested on it: ``live`` is the completed run, and can be queried at any time of it. The
rules of ``alerts/`` are evaluated while it runs, and their alerts are series (``ALERTS``) like all others.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rebalance_agent.clock import SystemClock
from rebalance_agent.testing.kafka.broker_settings import HOST, free_ports
from support.charts.live_rules import written
from support.charts.published_baselines import publish_baselines_of_demo
from support.http.servers import LOOPBACK, Server
from support.runner import tools

ROOT = Path(__file__).parents[3]

SCRAPE_SECONDS = 2
DEMO_SECONDS = 70
DEMO_SECONDS_MAX = 240
"""Longest time (seconds) of the demo, with the broker's start and the end, on a busy machine."""

ANSWER_SECONDS_MAX = 60
LAG = {"REBALANCE_AGENT_LAG_GROUPS": ".*", "REBALANCE_AGENT_LAG_INTERVAL_SECONDS": "2"}
"""Settings of the demo's observer: with the lag of all groups, so that the panels of lag have data."""

JOBS = {"observer": "rebalance-observer", "sidecar": "rebalance-sidecar", "gateway": "rebalance-gateway"}
KAFKA = re.compile(r"Kafka is ready after [\d.]+ s at ([\d.:]+)$")
ADDRESS = re.compile(r"^([a-z][\w-]*): page http://[\d.:]+/, metrics http://([\d.]+:\d+)/metrics$")
ELAPSED = re.compile(r"^ *(\d+\.\d) s  (.*)$")


@dataclass(frozen=True)
class Series:
    """One series of a result: ``points`` of (Unix time, value); one point for an instant query."""

    labels: dict[str, str]
    points: tuple[tuple[float, float], ...]

    @property
    def value(self) -> float:
        """The last value."""
        return self.points[-1][1]


class PrometheusError(AssertionError):
    """Prometheus rejected a query; the text contains the reason."""


class Prometheus(Server):
    """A server in ``folder``; `watch` adds targets. Use it in a ``with``."""

    def __init__(self, binary: str, folder: Path, rules: Sequence[Path] = (), scrape_seconds: int = SCRAPE_SECONDS):
        self._targets_file = folder / "targets.json"
        self._targets: dict[str, tuple[str, list[str]]] = {}
        address = f"{HOST}:{free_ports(1)[0]}"
        self._targets_file.write_text("[]")
        config = {
            "global": {
                "scrape_interval": f"{scrape_seconds}s",
                "scrape_timeout": f"{scrape_seconds}s",
                "evaluation_interval": f"{scrape_seconds}s",
            },
            "rule_files": [str(path) for path in rules],
            "scrape_configs": [{"job_name": "demo", "file_sd_configs": [{"files": [str(self._targets_file)]}]}],
        }
        (folder / "prometheus.json").write_text(json.dumps(config))  # JSON is YAML
        command = [
            binary,
            f"--config.file={folder / 'prometheus.json'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
            "--log.level=warn",
        ]
        super().__init__(command, f"http://{address}", folder / "prometheus.log")

    def watch(self, name: str, job: str, *addresses: str) -> None:
        """Add targets; `forget` removes them by name."""
        self._targets[name] = (job, list(addresses))
        self._write_targets()

    def forget(self, name: str) -> None:
        """Remove targets."""
        del self._targets[name]
        self._write_targets()

    def _write_targets(self) -> None:
        groups = [{"targets": addresses, "labels": {"job": job}} for job, addresses in self._targets.values()]
        unfinished = self._targets_file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(groups))
        unfinished.replace(self._targets_file)

    # -- queries -------------------------------------------------------------------------------------------------

    def answer(self, path: str, **parameters: object) -> Any:
        """The ``data`` of ``/api/v1/PATH``."""
        body = urllib.parse.urlencode(parameters, doseq=True)
        url, data = f"{self.url}/api/v1/{path}", body.encode()
        if path.startswith("label/") or not parameters:  # these endpoints accept no POST
            url, data = f"{url}?{body}", None
        try:
            with LOOPBACK.open(url, data, timeout=ANSWER_SECONDS_MAX) as answer:
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as error:
            with error:
                raise PrometheusError(f"{parameters}: {error.read().decode()}") from error

    def at(self, expression: str, moment: float) -> list[Series]:
        """The result of an instant query at a Unix time."""
        data = self.answer("query", query=expression, time=f"{moment:.3f}")
        if data["resultType"] == "scalar":
            return [Series({}, (_point(data["result"]),))]
        return [Series(each["metric"], (_point(each["value"]),)) for each in data["result"]]

    def over(self, expression: str, began: float, ended: float, step: float = SCRAPE_SECONDS) -> list[Series]:
        """The result of a range query from ``began`` to ``ended``."""
        data = self.answer(
            "query_range", query=expression, start=f"{began:.3f}", end=f"{ended:.3f}", step=f"{step:.3f}"
        )
        return [Series(each["metric"], tuple(map(_point, each["values"]))) for each in data["result"]]


def _point(pair: Sequence[Any]) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])


@dataclass(frozen=True)
class Moment:
    """A line of the demo's output and its Unix time: ``> slow consumer: ...`` begins a step."""

    at: float
    text: str


@dataclass
class Live:
    """The run of the demo, from the start of its first agent (``began``) to ``ended``, Unix times.

    The agents end shortly afterwards, and Prometheus continues without them.
    """

    prometheus: Prometheus
    began: float = 0.0
    ended: float = 0.0
    moments: list[Moment] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return self.ended - self.began

    def step(self, name: str) -> float:
        """The start of a step of the demo."""
        return next(moment.at for moment in self.moments if moment.text.startswith(f"> {name}: "))


def server() -> str | None:
    """The Prometheus server: beside promtool where that was unpacked or installed, or on PATH."""
    promtool = os.environ.get(tools.PROMTOOL)
    beside = Path(promtool).with_name("prometheus") if promtool else None
    return str(beside) if beside and beside.exists() else shutil.which("prometheus")


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need the run."""
    for item in items:
        if "live" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.live)


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """The demo's run in Prometheus. The first test that uses it waits for the whole run."""
    binary = server()
    if binary is None:
        assert os.environ.get("CI") != "true", "no prometheus: see tests/support/runner/tools.py"
        pytest.skip("no prometheus: run by `make test`, or set REBALANCE_AGENT_PROMTOOL to one with a server beside it")
    folder = tmp_path_factory.mktemp("prometheus")
    with Prometheus(binary, folder, written(folder, f"{SCRAPE_SECONDS}s")) as prometheus:
        run = Live(prometheus)
        _play(run, folder)
        yield run


def _play(run: Live, folder: Path) -> None:
    clock = SystemClock()
    command = [sys.executable, "-m", "rebalance_agent.cli.main", "demo", "--headless", "--seconds", str(DEMO_SECONDS)]
    environment = {**os.environ, **LAG, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"}
    deadline = clock.monotonic() + DEMO_SECONDS_MAX
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, start_new_session=True
    ) as demo:
        try:
            for line in demo.stdout or ():
                _note(run, line.rstrip("\n"), clock.now_ms() / 1_000)
                assert clock.monotonic() < deadline, "the demo does not end"
        except BaseException:
            demo.send_signal(signal.SIGINT)
            raise
    assert demo.returncode == 0, "\n".join(run.lines)
    assert run.began, "\n".join(run.lines)


def _note(run: Live, line: str, now: float) -> None:
    run.lines.append(line)
    if kafka := KAFKA.search(line):
        publish_baselines_of_demo(kafka[1], round(now * 1_000))
    if address := ADDRESS.match(line):
        name = address[1]
        run.began = run.began or now
        run.prometheus.watch(name, JOBS[name.partition("-")[0]], address[2])
    elif reported := ELAPSED.match(line):
        run.moments.append(Moment(now, reported[2]))
        run.ended = now  # the closing tables are printed after the agents' end
