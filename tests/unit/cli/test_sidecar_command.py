"""``rebalance-agent sidecar --stay`` keeps running, because an ended container would block its pod's consumers."""

import signal
import socket
import subprocess
import sys

import pytest

from rebalance_agent.cli.main import main

COMMAND = [sys.executable, "-m", "rebalance_agent.cli.main", "sidecar"]
PATIENCE_S = 60
FREE = ["--listen", "127.0.0.1:0", "--events-listen", "127.0.0.1:0"]


def staying(*arguments):
    return subprocess.Popen([*COMMAND, "--stay", *arguments], stderr=subprocess.PIPE, text=True)


def reported(process):
    """Its log up to the message that it keeps running."""
    lines = []
    for line in iter(process.stderr.readline, ""):
        lines.append(line)
        if "--stay" in line:
            return lines
    raise AssertionError(f"it ended: {lines}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_wrong_setting_is_reported_and_the_process_runs_until_a_signal(number):
    with staying(*FREE, "--stop-seconds", "-1") as process:
        assert reported(process) == [
            "rebalance-agent sidecar: stop_seconds: input should be greater than or equal to 0: '-1'\n",
            "rebalance-agent sidecar: waiting for a signal to exit (--stay)\n",
        ]
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == 2


def test_an_address_in_use_is_reported_and_the_process_runs_until_a_signal():
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with staying("--listen", "127.0.0.1:0", "--events-listen", address) as process:
            line = f"cannot listen on {address}: Address already in use; choose another with --events-listen\n"
            assert f"rebalance-agent sidecar: {line}" in reported(process)
            process.terminate()
            assert process.wait(PATIENCE_S) == 2


def test_each_address_in_use_is_reported_at_once(capsys):
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        web, posts = (f"127.0.0.1:{each.getsockname()[1]}" for each in (one, other))
        assert main(["sidecar", "--listen", web, "--events-listen", posts]) == 2
        reported = capsys.readouterr().err
        for address, flag in ((web, "--listen"), (posts, "--events-listen")):
            assert f"cannot listen on {address}: Address already in use; choose another with {flag}\n" in reported
        assert "gateway-listen" not in reported
        listening = ["--gateway-listen", web, "--listen", posts, *FREE[2:]]
        assert main(["gateway", "--bootstrap-servers", "127.0.0.1:1", *listening]) == 2
        assert capsys.readouterr().err.count("choose another with --") == 2


def test_without_stay_a_wrong_setting_ends_the_process():
    done = subprocess.run(
        [*COMMAND, *FREE, "--stop-seconds", "-1"], capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 2


def test_a_sidecar_with_valid_settings_ends_with_zero():
    with staying(*FREE) as process:
        assert any('"listening"' in line for line in iter(process.stderr.readline, ""))
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
