"""An OTLP collector that is killed, paused and slow during the whole run, besides the scheduled faults."""

from __future__ import annotations

import json
import random
import subprocess
import threading
from collections import Counter

from chaos.processes.programs import ENVIRONMENT, EXIT_WITH_PARENT
from chaos.processes.run_context import pause_process, pause_repeatedly
from rebalance_agent.clock import SystemClock
from rebalance_agent.testing.kafka.broker_settings import free_ports
from support.observer.observing import PATIENCE_S

UP_S = (1.0, 12.0)
HELD_S, GOES_ON_S = (0.3, 3.0), (0.02, 0.1)
"""Seconds for which a slow collector is stopped, and then runs, in turn: some answers come after `TIMEOUT_S`."""

TROUBLES = {
    # weight, shortest and longest duration in seconds
    "killed": (3, 0.5, 20),
    "paused": (1, 2, 12),
    "slow": (2, 4, 15),
}
TIMEOUT_S = 2
"""Longest time of a request of the agents."""


class OtlpReceiver:
    """Starts a collector; from `begin` until `settle` it has troubles, which follow from the seed. A context manager.

    ``done``: the number of troubles by kind.
    """

    def __init__(self, folder, seed):
        self.done, self._path, self._log = Counter(), folder / "spans.ndjson", folder / "collector.log"
        (self._port,) = free_ports(1)
        self._process = None
        self.chance, self.clock, self._over = random.Random(f"{seed} collector"), SystemClock(), threading.Event()
        self._thread = threading.Thread(target=self._trouble, daemon=True)

    def __enter__(self):
        self._start()
        self._thread.start()
        return self

    def __exit__(self, *_error):
        self.settle()
        self._end()

    def variables(self, process):
        """Return the environment of an agent that exports to the collector; ``process``: its name in the spans."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self._port}",
            "OTEL_EXPORTER_OTLP_TIMEOUT": str(TIMEOUT_S),
            "OTEL_METRIC_EXPORT_INTERVAL": "5000",
            "OTEL_RESOURCE_ATTRIBUTES": f"service.instance.id={process}",
        }

    def settle(self):
        """End the troubles, after the current one: the collector works from now on."""
        self._over.set()
        self._thread.join(PATIENCE_S)

    def spans(self):
        """Return the spans that arrived, in order. A line that a kill cut off was not confirmed to the sender."""
        written = self._path.read_bytes().split(b"\n") if self._path.exists() else []
        return [json.loads(line) for line in written if line.endswith(b"}")]

    def wait(self, seconds, then=lambda: None):
        """Wait, then call ``then``."""
        threading.Event().wait(seconds)
        then()

    def _trouble(self):
        while not self._over.wait(self.chance.uniform(*UP_S)):
            (kind,) = self.chance.choices(list(TROUBLES), [weight for weight, *_ in TROUBLES.values()])
            seconds = self.chance.uniform(*TROUBLES[kind][1:])
            if kind == "killed":
                self._end()
                self.wait(seconds, then=self._start)
            elif kind == "paused":
                pause_process(self, self._process.pid, seconds)
            else:
                pause_repeatedly(self, self._process.pid, seconds, HELD_S, GOES_ON_S)
            self.done[kind] += 1

    def _start(self):
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*EXIT_WITH_PARENT, "support.otlp.recording_collector", str(self._port), str(self._path)],
                env=ENVIRONMENT,
                stdin=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    def _end(self):
        self._process.kill()
        self._process.wait(PATIENCE_S)
        self._process.stdin.close()
