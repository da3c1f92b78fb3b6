"""Requests the positions of share groups in their partitions, which the offsets topic does not show (KIP-1226)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from rebalance_agent.cluster.describing.broker_client import BrokerClient
from rebalance_agent.cluster.describing.epoch_describer import EpochDescriber
from rebalance_agent.cluster.describing.frame_request import FrameRequest
from rebalance_agent.errors import ClusterError, DecodeError
from rebalance_agent.groupprotocol.requests.share_group_offsets import (
    SHARE_OFFSETS,
    UNKNOWN_OFFSET,
    decode_share_offsets,
    encode_share_offsets,
)
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import GroupType

__all__ = ["BATCH_MAX", "ShareOffset", "ShareOffsets", "SharePositions"]

BATCH_MAX = 100
"""Maximum number of groups per request."""


class ShareOffset(NamedTuple):
    """A share group's position in a partition.

    ``start``: the first offset that is not yet acknowledged or archived. ``lag``: how many records from there to the
    end are neither.
    """

    start: int
    lag: int


@dataclass(frozen=True, slots=True)
class SharePositions:
    """The positions by group, and ``refused``: group -> the reason why it has none.

    Partitions that a group has not read yet are missing.
    """

    groups: Mapping[str, Mapping[Partition, ShareOffset]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


class ShareOffsets:
    """Asks the brokers of one cluster. Thread-safe."""

    def __init__(self, client: BrokerClient) -> None:
        """``client``: connections to the brokers."""
        self._client, self._listing = client, EpochDescriber(client)

    def read(self, selects: Callable[[str], bool]) -> SharePositions:
        """Return the positions of all share groups that ``selects`` accepts.

        Raises:
            ClusterError: no broker answers.
        """
        listed = self._listing.list_groups(types=(GroupType.SHARE,)).groups
        by_node: dict[int, list[str]] = {}
        for name, place in sorted(listed.items()):
            if selects(name):
                by_node.setdefault(place.node, []).append(name)
        if not by_node:
            return SharePositions()
        version = self._client.newest(SHARE_OFFSETS.key, SHARE_OFFSETS.versions[1:])
        if version is None:
            why = "the brokers do not count the lag of share groups: Kafka 4.2 and later do"
            return SharePositions(refused={name: why for names in by_node.values() for name in names})
        asked = [
            (node, names[start : start + BATCH_MAX])
            for node, names in by_node.items()
            for start in range(0, len(names), BATCH_MAX)
        ]
        requests = [FrameRequest(SHARE_OFFSETS.key, version, partial(_encode, names, version)) for _, names in asked]
        answers = self._client([(node, request) for (node, _), request in zip(asked, requests, strict=True)])
        groups: dict[str, Mapping[Partition, ShareOffset]] = {}
        refused: dict[str, str] = {}
        for (_, names), frame in zip(asked, answers, strict=True):
            found = _positions(frame, version, set(names))
            groups |= found.groups
            refused |= found.refused
        return SharePositions(groups, refused)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _encode(names: Sequence[str], version: int, correlation_id: int, client_id: str) -> bytes:
    return encode_share_offsets(correlation_id, client_id, names, version)


def _positions(frame: bytes | ClusterError, version: int, names: AbstractSet[str]) -> SharePositions:
    if isinstance(frame, ClusterError):
        return SharePositions(refused=dict.fromkeys(names, str(frame)))
    try:
        answered = [group for group in decode_share_offsets(frame, version) if group["group_id"] in names]
    except DecodeError as error:
        return SharePositions(refused=dict.fromkeys(names, str(error)))
    return SharePositions(
        {group["group_id"]: _offsets(group) for group in answered if not group["error_code"]},
        {
            group["group_id"]: group["error_message"] or f"error {group['error_code']}"
            for group in answered
            if group["error_code"]
        },
    )


def _offsets(group: Mapping[str, Any]) -> dict[Partition, ShareOffset]:
    return {
        (topic["topic_name"], row["partition_index"]): ShareOffset(row["start_offset"], row["lag"])
        for topic in group["topics"]
        for row in topic["partitions"]
        if not row["error_code"] and UNKNOWN_OFFSET not in (row["start_offset"], row["lag"])
    }
