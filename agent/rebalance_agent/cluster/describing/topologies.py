"""Requests the topologies of streams groups (KIP-1071), with their descriptions if brokers store them (KIP-1331)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rebalance_agent.cluster.describing.broker_client import BrokerClient
from rebalance_agent.cluster.describing.epoch_answers import refusal
from rebalance_agent.cluster.describing.epoch_describer import EpochDescriber
from rebalance_agent.cluster.describing.frame_request import FrameRequest
from rebalance_agent.errors import ClusterError, DecodeError
from rebalance_agent.groupprotocol.requests.streams_group_describe import STREAMS_DESCRIBE, TOPOLOGY_AVAILABLE
from rebalance_agent.groupprotocol.wire.error_codes import COORDINATOR_MOVED
from rebalance_agent.model.epoch_groups import StreamsTopology, Subtopology
from rebalance_agent.model.group import GroupType

__all__ = ["NAMES_BYTES_MAX", "RESPONSE_BYTES_MAX", "Topologies", "TopologiesRead"]

RESPONSE_BYTES_MAX = 4 << 20
"""Maximum size of a response about one group that is decoded: a hundred members, and a topology of 10,000 nodes."""

NAMES_BYTES_MAX = 64 << 10
"""Maximum size of all names in a topology that is kept: a hundred subtopologies with five topics each."""

_SINK = 3
"""The ``node_type`` of a node that writes a topic."""

_Group = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TopologiesRead:
    """Group -> topology, None if the group has none now; ``refused``: group -> why its topology is not known.

    A group whose coordinator moves is in neither.
    """

    groups: Mapping[str, StreamsTopology | None] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


class Topologies:
    """Asks the coordinators of streams groups. Not thread-safe. A call takes at most twice the client's timeout."""

    def __init__(self, client: BrokerClient) -> None:
        """``client``: connections to the brokers."""
        self._client, self._listing = client, EpochDescriber(client)

    def read(self, selects: Callable[[str], bool]) -> TopologiesRead:
        """Return the topologies of all streams groups that ``selects`` accepts, with one request for each group.

        Raises:
            ClusterError: no broker answers.
        """
        listed = self._listing.list_groups(types=(GroupType.STREAMS,)).groups
        places = [(name, place.node) for name, place in sorted(listed.items()) if selects(name)]
        version = self._client.newest(STREAMS_DESCRIBE.key, STREAMS_DESCRIBE.versions)
        if not places or version is None:
            return TopologiesRead()
        answers = self._client(
            [
                (node, FrameRequest(STREAMS_DESCRIBE.key, version, partial(_encode, name, version)))
                for name, node in places
            ]
        )
        groups: dict[str, StreamsTopology | None] = {}
        refused: dict[str, str] = {}
        for (name, _), frame in zip(places, answers, strict=True):
            try:
                described = _described(name, frame, version)
                if described is None or described["error_code"] not in COORDINATOR_MOVED:
                    groups[name] = _topology(name, described)
            except (ClusterError, DecodeError) as error:
                refused[name] = str(error)
        return TopologiesRead(groups, refused)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _encode(name: str, version: int, correlation_id: int, client_id: str) -> bytes:
    return STREAMS_DESCRIBE.encode(correlation_id, client_id, [name], version, include_topology_description=1)


def _described(name: str, frame: bytes | ClusterError, version: int) -> _Group | None:
    """Return the group in a response; None if the response does not contain it.

    Raises:
        ClusterError: no response, or too many bytes.
        DecodeError: the bytes do not follow the schema.
    """
    if isinstance(frame, ClusterError):
        raise frame
    if len(frame) > RESPONSE_BYTES_MAX:
        raise ClusterError(f"the response has {len(frame)} bytes; at most {RESPONSE_BYTES_MAX} are read")
    return next((group for group in STREAMS_DESCRIBE.decode(frame, version) if group["group_id"] == name), None)


def _topology(name: str, group: _Group | None) -> StreamsTopology | None:
    """Return the topology of a described group; None if it does not exist, or has no topology that fits its topics.

    Raises:
        ClusterError: an error, or too many bytes.
    """
    if group is None:
        return None
    if reason := refusal(group):
        raise ClusterError(reason)
    described = group["topology"] or {}
    rows = described.get("subtopologies")
    if not rows:
        return None
    description = _description(group)
    nodes = {row["subtopology_id"]: row["nodes"] for row in description["subtopologies"]} if description else {}
    stores = [each["source"] for each in description["global_stores"]] if description else None
    topology = StreamsTopology(
        described["epoch"],
        tuple(_subtopology(name, row, nodes) for row in sorted(rows, key=_order)),
        None if stores is None else _distinct(topic for node in stores for topic in node["source_topics"]),
    )
    if (size := topology.names_bytes) > NAMES_BYTES_MAX:
        raise ClusterError(f"its names have {size} bytes; at most {NAMES_BYTES_MAX} are kept")
    return topology


def _order(row: _Group) -> tuple[int, str]:
    """Return the key of an order in which 2 comes before 10; ids of named topologies are no numbers."""
    subtopology_id: str = row["subtopology_id"]
    return (len(subtopology_id), subtopology_id)


def _description(group: _Group) -> _Group | None:
    """Return the description of the topology; None if the broker has none."""
    available = group.get("topology_description_status") == TOPOLOGY_AVAILABLE
    return group["topology_description"] if available else None


def _subtopology(application: str, row: _Group, nodes: Mapping[str, list[_Group]]) -> Subtopology:
    repartition_sinks = _distinct(row["repartition_sink_topics"])
    described = nodes.get(row["subtopology_id"])
    sinks = None if described is None else _distinct(node["sink_topic"] for node in described if _writes(node))
    return Subtopology(
        row["subtopology_id"],
        _distinct(row["source_topics"]),
        _distinct(topic["name"] for topic in row["repartition_source_topics"]),
        repartition_sinks,
        _distinct(topic["name"] for topic in row["state_changelog_topics"]),
        # A description names internal topics without the prefix of the application, whose id is the group's.
        None
        if sinks is None
        else tuple(topic for topic in sinks if not {topic, f"{application}-{topic}"} & {*repartition_sinks}),
        None if described is None else _distinct(store for node in described for store in node["stores"]),
    )


def _writes(node: _Group) -> bool:
    """Whether a node writes a topic whose name is known: an application can choose a topic for each record."""
    return node["node_type"] == _SINK and node["sink_topic"] is not None


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
