"""The demo as users run it: one whole run, and two interrupted ones. The most expensive tests of the suite."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading

import psutil
import pytest

from rebalance_agent.demo.scenario import GROUPS, STEPS
from rebalance_agent.ui.words import duration

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

COMMAND = [sys.executable, "-m", "rebalance_agent.cli.main", "demo", "--headless"]
RUN_SECONDS_MAX = 150
END_SECONDS_MAX = 30


@pytest.mark.timed
def test_a_checked_run_of_sixty_seconds_shows_every_step_and_agrees_with_the_coordinator(tmp_path):
    summary = tmp_path / "summary.json"
    done = subprocess.run(
        [*COMMAND, "--seconds", "60", "--check", "--summary", str(summary)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUN_SECONDS_MAX,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stdout
    reported = json.loads(summary.read_text())
    assert reported["differences"] == []
    assert {name: group["check"] for name, group in reported["groups"].items()} == {
        group.name: "ok" for group in GROUPS
    }
    assert reported["groups"]["orders-weighted"]["members"] == {"orders-900": 90, "orders-90": 9, "orders-10": 1}
    assert reported["groups"]["payments-failover"]["members"] == {"payments-active": 8, "payments-standby": 0}
    assert reported["groups"]["clicks-range"]["members"] == {"range-1": 81, "range-2": 81, "range-3": 0}
    assert reported["groups"]["clicks-hosts"]["members"] == {"application01": 81, "application02": 81}
    gateway = reported["groups"]["parcels-gateway"]
    assert (gateway["client"], gateway["assignor"]) == ("confluent-kafka", "weighted-sticky")
    assert gateway["members"] == {"parcels-300": 12, "parcels-100": 4}
    assert [step["name"] for step in reported["steps"]] == [step.name for step in STEPS]
    for step in reported["steps"]:
        seen = [{"group": episode["group"], "trigger": episode["trigger"]} for episode in step["seen"]]
        assert sorted(seen, key=str) == sorted(step["expected"], key=str)
    on_one_host = {step["name"]: step["topics_on_one_host"] for step in reported["steps"]}
    assert on_one_host["new topic"] == {"clicks-hosts": 81}
    assert on_one_host["hosts: replacement"] == {"clicks-hosts": 0}
    assert "clicks-hosts: 80 of 80 topics have all their partitions on one of 2 hosts" in done.stdout
    slow = reported["slow_consumer"]
    assert (slow["client_id"], slow["basis"]) == ("orders-90", "exact")
    assert slow["delay_seconds"] <= slow["stall_seconds"] <= slow["delay_seconds"] + 1
    assert "orders-90" in done.stdout
    assert f"{duration(slow['stall_seconds'])} exact" in done.stdout
    assert not list(tmp_path.glob("rebalance-agent-demo-*")), "a successful run leaves no logs"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_no_process_survives_any_end_of_the_demo(number, code, tmp_path):
    demo = subprocess.Popen(
        [*COMMAND, "--seconds", "120"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with demo:
        # No process may remain if this test fails.
        guard = threading.Timer(RUN_SECONDS_MAX, demo.kill)
        guard.start()
        # The table of groups is printed once all members have gathered.
        lines = list(itertools.takewhile(lambda line: not line.startswith("clicks-hosts "), demo.stdout))
        family = psutil.Process(demo.pid).children(recursive=True)
        demo.send_signal(number)
        demo.stdout.read()
        assert demo.wait(END_SECONDS_MAX) == code, lines
        guard.cancel()
    _, alive = psutil.wait_procs(family, timeout=END_SECONDS_MAX)
    assert len(family) > len(GROUPS)
    assert alive == []
