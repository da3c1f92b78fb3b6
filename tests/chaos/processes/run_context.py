"""The targets of faults, and functions that pause a process."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chaos.processes.agents import Agent
from rebalance_agent.clock import SystemClock
from rebalance_agent.testing import EmbeddedKafka
from support.kafka.network import Network

if TYPE_CHECKING:
    from chaos.processes.stream import Stream


@dataclass
class RunContext:
    """The brokers, network, agents and stream of a run. ``events``: address of the sidecar's endpoint.

    A run with seats has gateways, and no network, sidecar and stream.
    """

    kafka: EmbeddedKafka
    network: Network | None
    observer: Agent
    sidecar: Agent | None
    events: str
    stream: Stream | None  # none without Spark
    chance: random.Random
    gateways: tuple[Agent, ...] = ()
    pause: threading.Event = field(default_factory=threading.Event)
    clock: SystemClock = field(default_factory=SystemClock)

    @property
    def agents(self):
        """The observer and the sidecar or gateways."""
        return (self.observer, *([self.sidecar] if self.sidecar else []), *self.gateways)

    def wait(self, seconds, then=lambda: None):
        """Wait, then call ``then``, also after an exception."""
        try:
            self.pause.wait(seconds)
        finally:
            then()


def pause_process(context, pid, seconds):
    """Stop a process for a while (SIGSTOP)."""
    _signal(pid, signal.SIGSTOP)
    context.wait(seconds, then=lambda: _signal(pid, signal.SIGCONT))


def pause_repeatedly(context, pid, seconds, held_s, goes_on_s):
    """Stop a process repeatedly, for ``held_s`` each time; in between it runs for ``goes_on_s`` (both: from, to)."""
    until = context.clock.monotonic() + seconds
    while context.clock.monotonic() < until:
        pause_process(context, pid, context.chance.uniform(*held_s))
        context.wait(context.chance.uniform(*goes_on_s))


def _signal(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
