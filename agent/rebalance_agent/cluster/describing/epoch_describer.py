"""Lists and describes groups whose coordinator assigns, with the epochs and targets that librdkafka drops."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from rebalance_agent.cluster.describing.broker_client import BrokerClient, FrameRequest
from rebalance_agent.cluster.describing.epoch_answers import described_epochs
from rebalance_agent.errors import ClusterError, DecodeError
from rebalance_agent.groupprotocol.requests.consumer_group_describe import CONSUMER_DESCRIBE
from rebalance_agent.groupprotocol.requests.describe_api import DescribeApi
from rebalance_agent.groupprotocol.requests.share_group_describe import SHARE_DESCRIBE
from rebalance_agent.groupprotocol.requests.streams_group_describe import STREAMS_DESCRIBE
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.tracking.observations import DescribedGroup

__all__ = ["EpochDescriber", "EpochListing", "Place"]

_APIS: Mapping[GroupType, DescribeApi] = {
    GroupType.CONSUMER: CONSUMER_DESCRIBE,
    GroupType.SHARE: SHARE_DESCRIBE,
    GroupType.STREAMS: STREAMS_DESCRIBE,
}

_LIST_KEY = 16
_TYPED_LIST = range(5, 6)
"""The version of ListGroups that has the types of groups; brokers of Kafka 4.0 and later have it."""


@dataclass(frozen=True, slots=True)
class Place:
    """The type of a group, and the node id of its coordinator."""

    group_type: GroupType
    node: int


@dataclass(frozen=True, slots=True)
class EpochListing:
    """Group -> type and coordinator; ``complete``: whether all brokers answered."""

    groups: Mapping[str, Place]
    complete: bool


class EpochDescriber:
    """Asks the brokers of one cluster. Thread-safe. A call takes at most twice the client's timeout."""

    def __init__(self, client: BrokerClient) -> None:
        """``client``: connections to the brokers."""
        self._client = client

    def list_groups(self, states: Collection[GroupState] = ()) -> EpochListing:
        """List consumer, share and streams groups in any of ``states`` (empty: all).

        Brokers before Kafka 4.0 have none. A broker lists only the groups that it coordinates.

        Raises:
            ClusterError: no broker answers.
        """
        from kafka.protocol.admin import ListGroupsRequest  # noqa: PLC0415 - of an extra

        if self._client.newest(_LIST_KEY, _TYPED_LIST) is None:
            return EpochListing({}, complete=True)
        nodes = self._client.nodes()
        types = [group_type.value for group_type in _APIS]
        wanted = [state.value for state in states]
        requests = [
            (node, ListGroupsRequest(states_filter=wanted, types_filter=types, min_version=_TYPED_LIST[0]))
            for node in nodes
        ]
        answers = self._client(requests)
        groups = {
            group.group_id: Place(GroupType(group.group_type), node)
            for node, answer in zip(nodes, answers, strict=True)
            for group in (answer.groups if answer is not None and not answer.error_code else ())
            if group.group_type in types
        }
        return EpochListing(groups, complete=all(answer is not None and not answer.error_code for answer in answers))

    def describe(self, groups: Mapping[str, Place]) -> list[DescribedGroup]:
        """Return the descriptions of ``groups``; without groups that do not exist or cannot be described.

        Raises:
            ClusterError: no broker answers, or an answer cannot be read.
        """
        by_place: dict[Place, list[str]] = {}
        for name, place in groups.items():
            by_place.setdefault(place, []).append(name)
        asked = [
            (place, api, version, names)
            for place, names in by_place.items()
            if (version := self._client.newest((api := _APIS[place.group_type]).key, api.versions)) is not None
        ]
        answers = self._client(
            [
                (place.node, FrameRequest(api.key, version, partial(_encode, api, version, names)))
                for place, api, version, names in asked
            ]
        )
        return [
            described
            for (place, api, version, _), frame in zip(asked, answers, strict=True)
            for group in (() if frame is None else _decode(api, frame, version))
            if (described := described_epochs(group, place.group_type))
        ]


def _encode(api: DescribeApi, version: int, names: Collection[str], correlation_id: int, client_id: str) -> bytes:
    return api.encode(correlation_id, client_id, list(names), version)


def _decode(api: DescribeApi, frame: bytes, version: int) -> Iterable[Mapping[str, Any]]:
    try:
        return api.decode(frame, version)
    except DecodeError as error:
        raise ClusterError(f"describing groups: {error}") from None
