"""Lays out an embedded cluster: its brokers, settings, ports and files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rebalance_agent.testing.errors import BrokerError
from rebalance_agent.testing.kafka.broker import Broker
from rebalance_agent.testing.kafka.broker_settings import BrokerNode, free_ports, kafka_uuid, server_properties
from rebalance_agent.testing.kafka.kafka_versions import BootstrapCheckpoint
from rebalance_agent.testing.kafka.listeners import Listener, check_listeners

__all__ = ["Layout"]

BROKERS_MAX = 9
"""Maximum number of brokers, of about 350 MB of memory each."""


@dataclass(frozen=True)
class Layout:
    """The requested cluster. ``directory``: None for a temporary one; ``racks``: empty, or one rack for each broker.

    Raises:
        BrokerError: too few or too many brokers, a wrong number of racks, or invalid listeners.
    """

    brokers: int
    properties: Mapping[str, str]
    listeners: Mapping[str, Listener]
    authorizer: bool
    racks: tuple[str, ...]
    directory: Path | None

    def __post_init__(self) -> None:
        """Check the arguments."""
        if not 1 <= self.brokers <= BROKERS_MAX:
            raise BrokerError(f"brokers must be 1 to {BROKERS_MAX}, not {self.brokers}")
        if self.racks and len(self.racks) != self.brokers:
            raise BrokerError(f"racks must be one for each of {self.brokers} brokers, not {len(self.racks)}")
        check_listeners(self.listeners)

    def make_root(self) -> Path:
        """Make the directory of all files.

        Raises:
            BrokerError: the directory is not empty.
        """
        if self.directory is None:
            return Path(tempfile.mkdtemp(prefix="embedded-kafka-"))
        self.directory.mkdir(parents=True, exist_ok=True)
        if any(self.directory.iterdir()):
            raise BrokerError(f"{self.directory} is not empty: give a new directory")
        return self.directory

    def write(self, root: Path, checkpoint: BootstrapCheckpoint) -> dict[int, Broker]:
        """Choose ports and write the files of every broker; return node id -> broker."""
        fronted = [name for name, listener in self.listeners.items() if listener.fronted]
        ports = free_ports((2 + len(self.listeners) + len(fronted)) * self.brokers)
        nodes = [
            BrokerNode(
                node_id,
                ports.pop(),
                ports.pop(),
                root / f"broker-{node_id}",
                {name: ports.pop() for name in self.listeners},
                {name: ports.pop() for name in fronted},
            )
            for node_id in range(1, self.brokers + 1)
        ]
        cluster_id = kafka_uuid()
        brokers = {node.node_id: Broker(node, root / f"broker-{node.node_id}.log") for node in nodes}
        for broker in brokers.values():
            shutil.rmtree(broker.node.directory, ignore_errors=True)
            rack = {"broker.rack": self.racks[broker.node.node_id - 1]} if self.racks else {}
            properties = server_properties(
                broker.node, nodes, rack | dict(self.properties), self.listeners, authorizer=self.authorizer
            )
            broker.format(cluster_id, checkpoint, properties)
        return brokers
