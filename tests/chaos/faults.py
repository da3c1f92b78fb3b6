"""How each fault of the timetable is done, and undone before the next one."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass, field

from confluent_kafka.admin import AdminClient

from chaos.agents import Agent
from rebalance_agent.clock import SystemClock
from rebalance_agent.testing import BrokerError, EmbeddedKafka
from support.network import Network

OFFSETS = "__consumer_offsets"
FLOOD_LINES = 200
MEMORY_BYTES = 4 << 20
BURSTS_S = (0.2, 1.2)
ELECTION = "LeaderElectionCommand"
TOOL_S = 240


@dataclass
class Stage:
    """What faults happen to. ``events_url``: the sidecar's."""

    kafka: EmbeddedKafka
    network: Network
    observer: Agent
    sidecar: Agent
    events_url: str
    chance: random.Random
    pause: threading.Event = field(default_factory=threading.Event)
    clock: SystemClock = field(default_factory=SystemClock)

    def wait(self, seconds):
        """Nothing; time passes."""
        self.pause.wait(seconds)


def inflict(stage, fault):
    """Do it, for as long as it lasts, and undo it."""
    DOINGS[fault.name](stage, fault)


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
    """As a disk that stands still again and again."""
    pid, until = stage.kafka.pid(fault.broker), stage.clock.monotonic() + fault.seconds
    while stage.clock.monotonic() < until:
        _signal(pid, signal.SIGSTOP)
        stage.wait(stage.chance.uniform(*BURSTS_S))
        _signal(pid, signal.SIGCONT)
        stage.wait(stage.chance.uniform(*BURSTS_S))


def _brokers_restarted(stage, _fault):
    for broker in stage.kafka.node_ids:
        stage.kafka.stop_broker(broker)
        _start_broker(stage, broker)


def _coordinators_moved(stage, _fault):
    """Every partition of the offsets topic is led by the next of its replicas."""
    admin = AdminClient({"bootstrap.servers": stage.kafka.bootstrap_servers, "log_level": 0})
    topic = admin.list_topics(OFFSETS, 30).topics[OFFSETS]
    moved = {
        "version": 1,
        "partitions": [
            {"topic": OFFSETS, "partition": number, "replicas": [*each.replicas[1:], each.replicas[0]]}
            for number, each in topic.partitions.items()
        ],
    }
    path = stage.kafka.directory / "moved.json"
    path.write_text(json.dumps(moved))
    servers = ("--bootstrap-server", stage.kafka.bootstrap_servers)
    reassign, elect = (f"org.apache.kafka.tools.{name}" for name in ("reassign.ReassignPartitionsCommand", ELECTION))
    stage.kafka.run_tool(reassign, *servers, "--reassignment-json-file", str(path), "--execute", timeout=TOOL_S)
    stage.kafka.run_tool(elect, *servers, "--election-type", "preferred", "--all-topic-partitions", timeout=TOOL_S)


def _network_cut(stage, fault):
    stage.network.cut()
    stage.wait(fault.seconds)
    stage.network.heal()


def _network_frozen(stage, fault):
    stage.network.freeze()
    stage.wait(fault.seconds)
    stage.network.heal()


def _network_slow(stage, fault):
    stage.network.delay_s = stage.chance.uniform(0.05, 0.6)
    stage.wait(fault.seconds)
    stage.network.heal()


def _network_loses(stage, fault):
    stage.network.loss = stage.chance.uniform(0.05, 0.4)
    stage.wait(fault.seconds)
    stage.network.heal()


def _connections_reset(stage, _fault):
    stage.network.reset()


def _agent_killed(stage, fault):
    stage.observer.life.kill()
    stage.wait(fault.seconds)
    stage.observer.start()


def _agent_killed_early(stage, fault):
    stage.observer.life.kill()
    for _ in range(2):
        stage.observer.start()
        stage.wait(fault.seconds)
        stage.observer.life.kill()
    stage.observer.start()


def _agent_stopped(stage, fault):
    stage.observer.life.send(signal.SIGSTOP)
    stage.wait(fault.seconds)
    stage.observer.life.send(signal.SIGCONT)


def _agent_restarted(stage, fault):
    stage.observer.life.stop()
    stage.wait(fault.seconds)
    stage.observer.start()


def _agent_starved(stage, fault):
    """It gets no more memory; whatever that does to it, it is started anew then if it has ended."""
    life = stage.observer.life
    life.limit_memory(MEMORY_BYTES)
    stage.wait(fault.seconds)
    life.limit_memory(None)
    # Who ran out of memory once may be in any state: what an orchestrator does is to start it anew.
    life.kill()
    stage.observer.start()


def _clock_forward(stage, fault):
    stage.observer.set_clock(fault.seconds * 1000)
    stage.wait(3)
    stage.observer.set_clock(0)


def _clock_back(stage, fault):
    stage.observer.set_clock(-fault.seconds * 1000)
    stage.wait(3)
    stage.observer.set_clock(0)


def _sidecar_gone(stage, fault):
    stage.sidecar.life.kill()
    stage.wait(fault.seconds)
    stage.sidecar.start()


def _sidecar_hangs(stage, fault):
    stage.sidecar.life.send(signal.SIGSTOP)
    stage.wait(fault.seconds)
    stage.sidecar.life.send(signal.SIGCONT)


def _sidecar_flooded(stage, fault):
    """Posts that are no events, as fast as it takes them."""
    until, body = stage.clock.monotonic() + fault.seconds, b'{"kind": "member", "nonsense": true}\n' * FLOOD_LINES
    while stage.clock.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{stage.events_url}/v1/events", body, timeout=2):
                pass
        except urllib.error.HTTPError as error:
            error.close()
        except OSError:
            stage.wait(0.1)


def _signal(pid, number):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


DOINGS = {
    "broker killed": _broker_killed,
    "broker stopped in bursts": _broker_stopped,
    "brokers restarted in turn": _brokers_restarted,
    "coordinators moved": _coordinators_moved,
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
    "sidecar flooded": _sidecar_flooded,
}
