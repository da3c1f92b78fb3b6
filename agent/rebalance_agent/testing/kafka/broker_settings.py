"""Makes the configuration of one broker of the embedded cluster: ports, ids, ``server.properties``."""

from __future__ import annotations

import base64
import json
import random
import re
import socket
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rebalance_agent.runtime.settings.agent_ports import AGENT_PORTS
from rebalance_agent.testing.kafka.listeners import Listener

__all__ = ["HOST", "BrokerNode", "free_ports", "kafka_uuid", "meta_properties", "quorum", "render", "server_properties"]

HOST = "127.0.0.1"
PORTS = tuple(port for port in range(20_000, 32_000) if port not in AGENT_PORTS)
"""Ports of brokers, below the ports that Linux (from 32768) and macOS (from 49152) use for outgoing connections:
otherwise a client could take the port of a stopped broker. The ports of agents are left out, so that a user can start
agents beside brokers."""

VOTERS_MAX = 3
"""Maximum number of controllers."""

OFFSETS_PARTITIONS = 4
"""Number of partitions of ``__consumer_offsets``. Kafka's default of 50 costs seconds at the start and hundreds of
files."""

_REPLICAS_MAX = 3
_PORT_ATTEMPTS_MAX = 1_000
_BACKSLASHED = r"\\\g<0>"  # the matched text, after a backslash
_AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # All clients of the plain listener, which include the brokers themselves.
    "super.users": "User:ANONYMOUS",
}


@dataclass(frozen=True, slots=True)
class BrokerNode:
    """One broker: its ``node.id``, its ports, and the directory of its files.

    ``ports``: name of a further listener -> its port; ``fronts``: name of a listener -> port advertised instead.
    """

    node_id: int
    port: int
    controller_port: int
    directory: Path
    ports: Mapping[str, int] = field(default_factory=dict)
    fronts: Mapping[str, int] = field(default_factory=dict)


def free_ports(count: int) -> list[int]:
    """Return ``count`` different free loopback ports. A later bind may still fail, so the caller must be able to retry.

    Raises:
        OSError: too few ports of the range are free.

    """
    chosen: set[int] = set()
    # Not seeded: processes that start at the same time must try different ports.
    for port in random.SystemRandom().choices(PORTS, k=_PORT_ATTEMPTS_MAX):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        chosen.add(port)
        if len(chosen) == count:
            return sorted(chosen)
    msg = f"fewer than {count} ports are free on {HOST} between {PORTS[0]} and {PORTS[-1]}"
    raise OSError(msg)


def kafka_uuid() -> str:
    """Return a random id in Kafka's form: 16 bytes in URL-safe base64 without padding, never starting with a dash."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()).startswith("-"):
        pass
    return text


def quorum(nodes: Sequence[BrokerNode]) -> list[BrokerNode]:
    """Return the nodes that are also controllers: the first one, or the first three of three or more.

    Two controllers would be worse than one: with static voters, the loss of one of the two stops the quorum.
    """
    return list(nodes[: VOTERS_MAX if len(nodes) >= VOTERS_MAX else 1])


def meta_properties(cluster_id: str, node_id: int) -> dict[str, str]:
    """Return the properties that ``kafka-storage format`` writes to ``meta.properties`` (KIP-631, KIP-858)."""
    return {"version": "1", "cluster.id": cluster_id, "node.id": str(node_id), "directory.id": kafka_uuid()}


def server_properties(
    node: BrokerNode,
    nodes: Sequence[BrokerNode],
    overrides: Mapping[str, str],
    listeners: Mapping[str, Listener] | None = None,
    *,
    authorizer: bool = False,
) -> dict[str, str]:
    """Return ``server.properties`` of ``node`` in the cluster of ``nodes``; ``overrides`` replace any property.

    ``listeners``: the secured listeners in addition to the plain one, on ``node.ports``.
    """
    voters = quorum(nodes)
    secured = listeners or {}
    plain, fronts = f"PLAINTEXT://{HOST}:{node.port}", {**node.ports, **node.fronts}
    listening = [plain, *(f"{name}://{HOST}:{node.ports[name]}" for name in secured)]
    advertised = [plain, *(f"{name}://{HOST}:{fronts[name]}" for name in secured)]
    controller = [f"CONTROLLER://{HOST}:{node.controller_port}"] if node in voters else []
    protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
    protocols |= {name: listener.protocol for name, listener in secured.items()}
    replicas = str(min(len(nodes), _REPLICAS_MAX))
    return {
        "process.roles": "broker,controller" if node in voters else "broker",
        "node.id": str(node.node_id),
        "controller.quorum.voters": ",".join(f"{voter.node_id}@{HOST}:{voter.controller_port}" for voter in voters),
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join(listening + controller),
        "advertised.listeners": ",".join(advertised),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(node.directory / "data"),
        # A single broker has every internal topic; with several brokers, the loss of one broker must not stop a group.
        "default.replication.factor": replicas,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": "1",
        "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
        "transaction.state.log.num.partitions": "2",
        "share.coordinator.state.topic.num.partitions": "2",
        # Kafka's default waits 3 s for further members of a new group.
        "group.initial.rebalance.delay.ms": "0",
        # A test waits this long after it has killed a broker. A restarted broker waits this long for the end of its
        # former session. Kafka's default is 9 s. Up to six missed heartbeats are accepted, for a busy machine.
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        # Few clients need few threads and little memory.
        "log.cleaner.dedupe.buffer.size": str(16 << 20),
        "num.network.threads": "2",
        "num.io.threads": "4",
        "num.partitions": "1",
        **(_AUTHORIZER if authorizer else {}),
        **{
            f"listener.name.{name.lower()}.{key}": value
            for name, listener in secured.items()
            for key, value in listener.properties.items()
        },
        **overrides,
    }


def render(properties: Mapping[str, str]) -> str:
    r"""Return the text of a Java properties file, with JSON's escapes; in keys, syntax characters are also escaped."""
    pairs = ((json.dumps(key)[1:-1], json.dumps(value)[1:-1]) for key, value in properties.items())
    return "".join(
        f"{re.sub('[ =:#!]', _BACKSLASHED, key)}={re.sub('^ ', _BACKSLASHED, value)}\n" for key, value in pairs
    )
