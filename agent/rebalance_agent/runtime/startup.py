"""``python -m rebalance_agent.runtime.startup``: the startup probe of a sidecar in a pod. Always exits with 0.

Kubernetes starts a pod's next containers when the probe succeeds, so that a consumer finds its sidecar listening. A
failing probe would delay these containers and restart the sidecar. Since a pod must not wait for a sidecar that cannot
listen, this probe exits with success when it gives up. This exec probe imports little, because it uses the pod's CPU in
the pod's first second.
"""

from __future__ import annotations

import socket
import threading

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.http.events_post import EVENTS_PORT

__all__ = ["ADDRESS", "PATIENCE_S", "listens"]

ADDRESS = ("127.0.0.1", EVENTS_PORT)
"""The default address for a sidecar's events. A gateway that listens on it already listens for its clients."""

PATIENCE_S = 10.0
"""Longest wait, in seconds. A start takes 1 to 2 s. Consumers also work without a sidecar, and keep their events."""

PAUSE_S = 0.1
"""Seconds between attempts to connect, and longest wait for one attempt."""


def listens(address: tuple[str, int] = ADDRESS, patience_s: float = PATIENCE_S, clock: Clock | None = None) -> bool:
    """Wait at most ``patience_s`` seconds until ``address`` accepts connections; return whether it does."""
    clock = clock or SystemClock()
    end, never = clock.monotonic() + patience_s, threading.Event()
    while True:
        try:
            socket.create_connection(address, timeout=PAUSE_S).close()
        except OSError:
            if clock.monotonic() >= end:
                return False
        else:
            return True
        never.wait(PAUSE_S)


if __name__ == "__main__":
    listens()
