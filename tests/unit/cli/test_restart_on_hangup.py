"""SIGHUP restarts an observer and a sidecar in their process, and no gateway."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys

import pytest

WAIT_S = 60


@contextlib.contextmanager
def running(*command):
    """An agent and its lines of the log, as they are written."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rebalance_agent.cli.main", *command, "--log-format", "json"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process, map(json.loads, process.stderr)
        finally:
            process.kill()


def until(log, event):
    return next(line for line in log if line["event"] == event)


@pytest.mark.timeout(2 * WAIT_S)
@pytest.mark.parametrize("role", ["observe", "sidecar"])
def test_an_agent_restarts_with_its_new_settings_in_the_same_process(role, tmp_path):
    file = tmp_path / "settings.yaml"
    file.write_text("listen: 127.0.0.1:0\nlog_level: info\n")
    more = ["--idle"] if role == "observe" else ["--events-listen", "127.0.0.1:0"]
    with running(role, "--config", str(file), *more) as (process, log):
        until(log, "listening")
        file.write_text("no_setting: 1\n")
        process.send_signal(signal.SIGHUP)
        assert "no_setting" in until(log, "not_restarted")["reason"]
        file.write_text("listen: 127.0.0.1:0\nlog_level: debug\n")
        process.send_signal(signal.SIGHUP)
        until(log, "restarting")
        until(log, "stopping")
        until(log, "listening")
        process.send_signal(signal.SIGTERM)
        until(log, "stopping")
        assert process.wait(WAIT_S) == 0


@pytest.mark.timeout(2 * WAIT_S)
def test_a_gateway_does_not_restart_while_it_has_clients():
    addresses = ("--listen", "--events-listen", "--gateway-listen")
    flags = [each for address in addresses for each in (address, "127.0.0.1:0")]
    with running("gateway", *flags, "--bootstrap-servers", "127.0.0.1:1", "--gateway-port-base", "0") as (process, log):
        until(log, "listening")
        process.send_signal(signal.SIGHUP)
        assert "connections" in until(log, "not_restarted")["reason"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_S) == 0
