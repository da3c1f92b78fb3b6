"""How each fault of the timetable is done, and undone before the next one, even if somebody presses Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from confluent_kafka.admin import AdminClient

from chaos.agents import Agent
from chaos.programs import ENVIRONMENT, MODULE
from rebalance_agent.clock import SystemClock
from rebalance_agent.testing import BrokerError, EmbeddedKafka
from support.network import Network
from support.observing import PATIENCE_S, eventually

if TYPE_CHECKING:
    from chaos.stream import Stream

OFFSETS = "__consumer_offsets"
MEMORY_BYTES = 4 << 20
BURSTS_S = (0.2, 1.2)
HELD_S, GOES_ON_S = (0.3, 2.0), (0.02, 0.1)
"""A process that is slow: it is held up for so long, and then gets so much done."""

MOMENT = 0.02
"""Of the fault's length: within so long an observer reads no more than a part of the past."""

DELAY_S, LOSS = (0.05, 0.6), (0.05, 0.4)
WRONG_CLOCK_S = 3
ELECTION = "LeaderElectionCommand"
TOOL_S = 240


@dataclass
class Stage:
    """What faults happen to. ``events``: address of the sidecar's endpoint."""

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


def inflict(stage, fault):
    """Do it, for as long as it lasts, and undo it."""
    DOINGS[fault.name](stage, fault)


# Brokers


def _broker_killed(stage, fault):
    stage.kafka.kill_broker(fault.broker)
    stage.wait(fault.seconds)
    _start_broker(stage, fault.broker)


def _start_broker(stage, broker):
    try:
        stage.kafka.start_broker(broker)
    except BrokerError:  # its former self still counts as there, or the machine is busy: once more
        if broker in stage.kafka.node_ids:
            stage.kafka.start_broker(broker)


def _broker_stopped(stage, fault):
    """As a machine that nobody hears of, with its connections open."""
    _hold_up(stage, stage.kafka.pid(fault.broker), fault.seconds)


def _broker_stopped_in_bursts(stage, fault):
    """As a disk that stands still again and again."""
    _hold_up_again(stage, stage.kafka.pid(fault.broker), fault.seconds, BURSTS_S, BURSTS_S)


def _brokers_restarted(stage, _fault):
    for broker in stage.kafka.node_ids:
        stage.kafka.stop_broker(broker)
        _start_broker(stage, broker)


def _coordinators_moved(stage, _fault):
    _move(stage, lambda partitions: partitions)


def _one_coordinator_moved(stage, _fault):
    _move(stage, lambda partitions: [stage.chance.choice(sorted(partitions))])


def _move(stage, chosen):
    """Partitions of the offsets topic, ``chosen`` of all, are led by the next of their replicas."""
    admin = AdminClient({"bootstrap.servers": stage.kafka.bootstrap_servers, "log_level": 0})
    partitions = admin.list_topics(OFFSETS, 30).topics[OFFSETS].partitions
    replicas = {number: partitions[number].replicas for number in chosen(partitions)}
    moved = {
        "version": 1,
        "partitions": [
            {"topic": OFFSETS, "partition": number, "replicas": [*rest, first]}
            for number, (first, *rest) in replicas.items()
        ],
    }
    path = stage.kafka.directory / "moved.json"
    path.write_text(json.dumps(moved))
    servers = ("--bootstrap-server", stage.kafka.bootstrap_servers)
    reassign, elect = (f"org.apache.kafka.tools.{name}" for name in ("reassign.ReassignPartitionsCommand", ELECTION))
    stage.kafka.run_tool(reassign, *servers, "--reassignment-json-file", str(path), "--execute", timeout=TOOL_S)
    stage.kafka.run_tool(elect, *servers, "--election-type", "preferred", "--all-topic-partitions", timeout=TOOL_S)


# The network between agents and brokers


def _network_cut(stage, fault):
    stage.network.cut()
    stage.wait(fault.seconds, then=stage.network.heal)


def _network_frozen(stage, fault):
    stage.network.freeze()
    stage.wait(fault.seconds, then=stage.network.heal)


def _network_slow(stage, fault):
    stage.network.delay_s = stage.chance.uniform(*DELAY_S)
    stage.wait(fault.seconds, then=stage.network.heal)


def _network_loses(stage, fault):
    stage.network.loss = stage.chance.uniform(*LOSS)
    stage.wait(fault.seconds, then=stage.network.heal)


def _connections_reset(stage, _fault):
    stage.network.reset()


# The observer


def _agent_killed(stage, fault):
    stage.observer.life.kill()
    stage.wait(fault.seconds)
    stage.observer.start()


def _agent_killed_early(stage, fault):
    """While it reads the past: as soon as it has begun to, for that takes no longer than a moment."""
    stage.observer.life.kill()
    for _ in range(2):
        stage.observer.start()
        life = stage.observer.life
        begun = life.reads_past()
        stage.wait(fault.seconds * MOMENT if begun else 0)
        print(f"           killed when it was {'' if life.ready() else 'not yet '}ready", flush=True)
        life.kill()
    stage.observer.start()


def _agent_stopped(stage, fault):
    _hold_up(stage, stage.observer.life.pid, fault.seconds)


def _agent_restarted(stage, fault):
    stage.observer.life.stop()
    stage.wait(fault.seconds)
    stage.observer.start()


def _agent_starved(stage, fault):
    """It gets no more memory; whatever that does to it, it is started anew then if it has ended."""
    life = stage.observer.life
    life.limit_memory(MEMORY_BYTES)
    stage.wait(fault.seconds)
    how = "went on" if life.running else "ended"
    print(f"           {how} with {MEMORY_BYTES >> 20} MiB more at most", flush=True)
    life.limit_memory(None)
    # Who ran out of memory once may be in any state: what an orchestrator does is to start it anew.
    life.kill()
    stage.observer.start()


def _clock_forward(stage, fault):
    _set_clock(stage, fault.seconds)


def _clock_back(stage, fault):
    _set_clock(stage, -fault.seconds)


def _set_clock(stage, seconds):
    stage.observer.set_clock(seconds * 1000)
    stage.wait(WRONG_CLOCK_S, then=lambda: stage.observer.set_clock(0))


# The sidecar


def _sidecar_gone(stage, fault):
    stage.sidecar.life.kill()
    stage.wait(fault.seconds)
    stage.sidecar.start()


def _sidecar_hangs(stage, fault):
    _hold_up(stage, stage.sidecar.life.pid, fault.seconds)


def _sidecar_slow(stage, fault):
    _hold_up_again(stage, stage.sidecar.life.pid, fault.seconds, HELD_S, GOES_ON_S)


def _sidecar_flooded(stage, fault):
    """By somebody else; then it is as well as before."""
    eventually(lambda: stage.sidecar.life.port, told="the sidecar, which has only just begun")
    web = f"127.0.0.1:{stage.sidecar.life.port}"
    command = [*MODULE, "chaos.flood", stage.events, web, str(fault.seconds)]
    done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE_S)
    print(f"           flooded: {done.stdout.strip()}", flush=True)
    eventually(stage.sidecar.life.ready, told="the sidecar, which was flooded")


# The pipeline


def _stream_killed(stage, fault):
    stage.stream.kill()
    stage.wait(fault.seconds)
    stage.stream.start()


def _hold_up(stage, pid, seconds):
    _signal(pid, signal.SIGSTOP)
    stage.wait(seconds, then=lambda: _signal(pid, signal.SIGCONT))


def _hold_up_again(stage, pid, seconds, held_s, goes_on_s):
    until = stage.clock.monotonic() + seconds
    while stage.clock.monotonic() < until:
        _hold_up(stage, pid, stage.chance.uniform(*held_s))
        stage.wait(stage.chance.uniform(*goes_on_s))


def _signal(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


DOINGS = {
    "broker killed": _broker_killed,
    "broker stopped": _broker_stopped,
    "broker stopped in bursts": _broker_stopped_in_bursts,
    "brokers restarted in turn": _brokers_restarted,
    "coordinators moved": _coordinators_moved,
    "one coordinator moved": _one_coordinator_moved,
    "network cut": _network_cut,
    "network frozen": _network_frozen,
    "network slow": _network_slow,
    "network loses": _network_loses,
    "connections reset": _connections_reset,
    "agent killed": _agent_killed,
    "agent killed while it starts": _agent_killed_early,
    "agent stopped": _agent_stopped,
    "agent restarted": _agent_restarted,
    "agent out of memory": _agent_starved,
    "clock set forward": _clock_forward,
    "clock set back": _clock_back,
    "sidecar gone": _sidecar_gone,
    "sidecar hangs": _sidecar_hangs,
    "sidecar slow": _sidecar_slow,
    "sidecar flooded": _sidecar_flooded,
    "stream killed": _stream_killed,
}
