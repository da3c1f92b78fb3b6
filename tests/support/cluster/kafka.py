"""A Kafka broker for the node, at an address that pods can reach: the embedded broker with other listeners."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from rebalance_agent.clock import SystemClock
from rebalance_agent.testing.kafka.broker import Broker
from rebalance_agent.testing.kafka.broker_settings import HOST, BrokerNode, kafka_uuid, server_properties
from rebalance_agent.testing.kafka.java import java_runtime
from support.cluster.network import ADDRESS

__all__ = ["BOOTSTRAP", "kafka_for_pods"]

PORT, CONTROLLER_PORT = 9092, 9093  # no other process uses ports of this network namespace
BOOTSTRAP = f"{ADDRESS}:{PORT}"

READY_SECONDS_MAX = 120


@contextlib.contextmanager
def kafka_for_pods(folder: Path) -> Iterator[str]:
    """``host:port`` of one running broker during the block. Only inside the node's network."""
    node = BrokerNode(1, PORT, CONTROLLER_PORT, folder / "broker")
    listeners = {
        "listeners": f"PLAINTEXT://:{PORT},CONTROLLER://{HOST}:{CONTROLLER_PORT}",
        "advertised.listeners": f"PLAINTEXT://{BOOTSTRAP}",
    }
    runtime, broker = java_runtime(), Broker(node, folder / "broker.log")
    shutil.rmtree(node.directory, ignore_errors=True)
    broker.format(kafka_uuid(), runtime.bootstrap_checkpoint(), server_properties(node, [node], listeners))
    broker.launch(runtime, ("-Xmx512m",), [node.directory])
    try:
        _await(broker)
        yield BOOTSTRAP
    finally:
        broker.process.kill()
        shutil.rmtree(node.directory, ignore_errors=True)


def _await(broker: Broker) -> None:
    clock, pause = SystemClock(), threading.Event()
    end = clock.monotonic() + READY_SECONDS_MAX
    while not (broker.answers(frozenset({1})) and broker.has_coordinator()):
        assert clock.monotonic() < end, broker.failure("did not answer in time")
        pause.wait(0.05)
