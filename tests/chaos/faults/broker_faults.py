"""Faults of brokers."""

from __future__ import annotations

import contextlib
import json

from confluent_kafka.admin import AdminClient

from chaos.processes.run_context import pause_process, pause_repeatedly
from rebalance_agent.testing import BrokerError
from support.observer.observing import eventually

OFFSETS = "__consumer_offsets"
BURSTS_S = (0.2, 1.2)
ELECTION = "LeaderElectionCommand"
TOOL_S = 240


def _broker_killed(context, fault):
    context.kafka.kill_broker(fault.broker)
    context.wait(fault.seconds)
    _start_broker(context, fault.broker)


def _start_broker(context, broker):
    try:
        context.kafka.start_broker(broker)
    except BrokerError:  # the cluster still counts its previous process as live, or the machine is busy: try once more
        with contextlib.suppress(BrokerError):  # it ended by itself
            context.kafka.kill_broker(broker)
        context.kafka.start_broker(broker)


def _broker_stopped(context, fault):
    """Pause a broker: like an unreachable machine, with its connections open."""
    pause_process(context, context.kafka.pid(fault.broker), fault.seconds)


def _broker_stopped_in_bursts(context, fault):
    """Pause a broker repeatedly, like a disk that stops again and again."""
    pause_repeatedly(context, context.kafka.pid(fault.broker), fault.seconds, BURSTS_S, BURSTS_S)


def _brokers_restarted(context, _fault):
    for broker in context.kafka.node_ids:
        context.kafka.stop_broker(broker)
        _start_broker(context, broker)


def _coordinators_moved(context, _fault):
    _move(context, lambda partitions: partitions)


def _one_coordinator_moved(context, _fault):
    _move(context, lambda partitions: [context.chance.choice(sorted(partitions))])


def _move(context, chosen):
    """Make the next replica the leader of the ``chosen`` partitions of the offsets topic."""
    admin = AdminClient({"bootstrap.servers": context.kafka.bootstrap_servers, "log_level": 0})
    partitions = admin.list_topics(OFFSETS, 30).topics[OFFSETS].partitions
    replicas = {number: partitions[number].replicas for number in chosen(partitions)}
    moved = {
        "version": 1,
        "partitions": [
            {"topic": OFFSETS, "partition": number, "replicas": [*rest, first]}
            for number, (first, *rest) in replicas.items()
        ],
    }
    path = context.kafka.directory / "moved.json"
    path.write_text(json.dumps(moved))
    servers = ("--bootstrap-server", context.kafka.bootstrap_servers)
    reassign, elect = (f"org.apache.kafka.tools.{name}" for name in ("reassign.ReassignPartitionsCommand", ELECTION))
    said = []

    def reassigned():
        done = context.kafka.run_tool(
            reassign, *servers, "--reassignment-json-file", str(path), "--execute", timeout=TOOL_S
        )
        said[:] = [done.stdout, done.stderr]
        return done.returncode == 0

    eventually(reassigned, waiting_for=said)
    context.kafka.run_tool(elect, *servers, "--election-type", "preferred", "--all-topic-partitions", timeout=TOOL_S)


BROKER_FAULTS = {
    "broker killed": _broker_killed,
    "broker stopped": _broker_stopped,
    "broker stopped in bursts": _broker_stopped_in_bursts,
    "brokers restarted in turn": _brokers_restarted,
    "coordinators moved": _coordinators_moved,
    "one coordinator moved": _one_coordinator_moved,
}
