"""``python -m rebalance_agent.runtime.startup``: the startup probe of a sidecar in a pod. Always exits with 0.

Kubernetes starts a pod's next containers when it succeeds, so that a consumer finds its sidecar listening. A probe that
fails keeps them back, and restarts the sidecar: a pod must not wait for a sidecar that cannot listen, and so this one
gives up. It is a probe of the exec kind, and imports little: it is run in the pod's first second, on the pod's CPU.
"""

from __future__ import annotations

import socket
import threading

from rebalance_agent.clock import Clock, SystemClock

__all__ = ["ADDRESS", "PATIENCE_S", "listens"]

ADDRESS = ("127.0.0.1", 29309)
"""Where a sidecar takes events by default; a gateway listens for its clients before."""

PATIENCE_S = 10.0
"""A start takes one or two seconds. A consumer without its sidecar is as well off as before, so that more is not worth
waiting for; events wait in the consumer's process meanwhile."""

PAUSE_S = 0.1


def listens(address: tuple[str, int] = ADDRESS, patience_s: float = PATIENCE_S, clock: Clock | None = None) -> bool:
    """Wait until somebody takes connections at ``address``, at most so long; whether somebody does."""
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
