"""A gateway as a process, which a signal ends; tests read its metrics, but not its acts and generations."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager

from support.gateway.gatewaying import free_base

__all__ = ["GatewayProcess", "gateway_process"]

PORTS = 10
"""Number of ports: the first for bootstrap, the last for metrics, those between for brokers."""


class GatewayProcess:
    """A running gateway; ``bootstrap``: its address, which the next one with the same ``base`` has, too."""

    def __init__(self, process, base):
        self._process, self.base, self.bootstrap = process, base, f"127.0.0.1:{base}"

    def end(self, number=signal.SIGKILL):
        """Send a signal, and wait for the end."""
        self._process.send_signal(number)
        self._process.wait()

    def metric(self, line):
        """The value of the series ``line``; 0 if it is absent, or the page is not served yet."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.base + PORTS - 1}/metrics") as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return 0.0
        return next((float(each.rpartition(" ")[2]) for each in lines if each.startswith(f"{line} ")), 0.0)


@contextmanager
def gateway_process(bootstrap, seats, *, base=None, **more):
    """A running gateway. ``base``: the ports of an earlier one; ``more``: further settings."""
    base = base or free_base(nodes=PORTS)
    command = [sys.executable, "-W", "ignore", "-m", "rebalance_agent.cli.main", "gateway"]
    settings = {
        "bootstrap-servers": bootstrap,
        "gateway-seats": seats,
        "gateway-listen": f"127.0.0.1:{base}",
        "gateway-port-base": str(base + 1),
        "gateway-drain-seconds": "0",
        "listen": f"127.0.0.1:{base + PORTS - 1}",
        "events-listen": "127.0.0.1:0",
        "events-topic": "",
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    command += [f"--{name}={value}" for name, value in settings.items()]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        reading = threading.Thread(target=process.stderr.read, daemon=True)  # a full pipe would block it
        try:
            next(line for line in process.stderr if "gateway_listening" in line)
            reading.start()
            yield GatewayProcess(process, base)
        finally:
            process.kill()
            if reading.ident is not None:
                reading.join()
