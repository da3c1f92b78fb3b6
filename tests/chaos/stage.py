"""The targets of faults, and how a process is paused."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chaos.agents import Agent
from rebalance_agent.clock import SystemClock
from rebalance_agent.testing import EmbeddedKafka
from support.kafka.network import Network

if TYPE_CHECKING:
    from chaos.stream import Stream


@dataclass
class Stage:
    """Who is there. ``events``: address of the sidecar's endpoint."""

    kafka: EmbeddedKafka
    network: Network
    observer: Agent
    sidecar: Agent
    events: str
    stream: Stream | None  # none without Spark
    chance: random.Random
    pause: threading.Event = field(default_factory=threading.Event)
    clock: SystemClock = field(default_factory=SystemClock)

    def wait(self, seconds, then=lambda: None):
        """Time passes; ``then`` is done however that ends."""
        try:
            self.pause.wait(seconds)
        finally:
            then()


def hold_up(stage, pid, seconds):
    """A process stands still."""
    _signal(pid, signal.SIGSTOP)
    stage.wait(seconds, then=lambda: _signal(pid, signal.SIGCONT))


def hold_up_again(stage, pid, seconds, held_s, goes_on_s):
    """It does again and again, for ``held_s`` each time; between that it has ``goes_on_s`` (both from, to)."""
    until = stage.clock.monotonic() + seconds
    while stage.clock.monotonic() < until:
        hold_up(stage, pid, stage.chance.uniform(*held_s))
        stage.wait(stage.chance.uniform(*goes_on_s))


def _signal(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
