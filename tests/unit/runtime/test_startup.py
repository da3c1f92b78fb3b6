"""The startup probe: a pod's other containers wait for its sidecar, but not for one that will never listen."""

import socket
import subprocess
import sys
import threading

import pytest

from rebalance_agent.runtime.settings.roles import SidecarSettings
from rebalance_agent.runtime.settings.text_types import split_address
from rebalance_agent.runtime.startup import ADDRESS, listens


@pytest.fixture
def address():
    """A port without a listener, reserved for the test."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()


def test_the_probe_connects_to_the_sidecars_events_port():
    assert split_address(SidecarSettings.model_fields["events_listen"].default) == ADDRESS


def test_the_probe_ends_as_soon_as_the_sidecar_listens():
    with socket.create_server(("127.0.0.1", 0)) as sidecar:
        assert listens(sidecar.getsockname(), patience_s=60)


def test_the_probe_waits_for_a_late_sidecar():
    with socket.socket() as sidecar:
        sidecar.bind(("127.0.0.1", 0))
        begun = threading.Timer(0.3, sidecar.listen)
        begun.start()
        assert listens(sidecar.getsockname(), patience_s=60)
        begun.join()


def test_the_probe_gives_up_after_its_timeout(address):
    assert not listens(address, patience_s=0.2)


def test_the_probe_succeeds_when_it_gives_up():
    script = (
        "import runpy; from rebalance_agent.clock import SystemClock; now = iter(range(0, 1000, 20)); "
        "SystemClock.monotonic = lambda _: next(now); "
        "runpy.run_module('rebalance_agent.runtime.startup', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_probe_imports_no_slow_package():
    script = (
        "import sys; import rebalance_agent.runtime.startup; "
        "print(sorted({'confluent_kafka', 'pydantic', 'structlog', 'ssl'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
