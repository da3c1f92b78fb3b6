"""Lists and describes groups whose coordinator assigns, with the epochs and targets that librdkafka drops."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rebalance_agent.cluster.describing.broker_client import BrokerClient
from rebalance_agent.cluster.describing.epoch_answers import described_epochs, refusal
from rebalance_agent.cluster.describing.equal_answers import EqualAnswers
from rebalance_agent.cluster.describing.frame_request import FrameRequest
from rebalance_agent.errors import ClusterError, DecodeError
from rebalance_agent.groupprotocol.requests.consumer_group_describe import CONSUMER_DESCRIBE
from rebalance_agent.groupprotocol.requests.describe_api import DescribeApi
from rebalance_agent.groupprotocol.requests.share_group_describe import SHARE_DESCRIBE
from rebalance_agent.groupprotocol.requests.streams_group_describe import STREAMS_DESCRIBE
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.tracking.observations import DescribedGroup

__all__ = ["EpochDescriber", "EpochDescriptions", "EpochListing", "Place"]

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


@dataclass(frozen=True, slots=True)
class EpochDescriptions:
    """The ``groups`` that were described, and ``refused``: group -> the reason why it was not described.

    Groups that do not exist are in neither.
    """

    groups: Sequence[DescribedGroup]
    refused: Mapping[str, str]


class EpochDescriber:
    """Asks the brokers of one cluster. Thread-safe, except for rounds.

    A call takes at most twice the client's timeout.
    """

    def __init__(self, client: BrokerClient) -> None:
        """``client``: connections to the brokers."""
        self._client = client
        self._equal: EqualAnswers[EpochDescriptions] = EqualAnswers()

    def list_groups(
        self, states: Collection[GroupState] = (), types: Collection[GroupType] = tuple(_APIS)
    ) -> EpochListing:
        """List groups of these ``types`` in any of ``states`` (empty: all).

        Brokers before Kafka 4.0 have no such groups. A broker lists only the groups that it coordinates.

        Raises:
            ClusterError: no broker answers.
        """
        from kafka.protocol.admin import ListGroupsRequest  # noqa: PLC0415 - of an extra

        if self._client.newest(_LIST_KEY, _TYPED_LIST) is None:
            return EpochListing({}, complete=True)
        nodes = self._client.nodes()
        of_types, in_states = [each.value for each in types], [state.value for state in states]
        requests = [
            (node, ListGroupsRequest(states_filter=in_states, types_filter=of_types, min_version=_TYPED_LIST[0]))
            for node in nodes
        ]
        answers = self._client(requests)
        groups = {
            group.group_id: Place(GroupType(group.group_type), node)
            for node, answer in zip(nodes, answers, strict=True)
            for group in (answer.groups if _listed(answer) else ())
            if group.group_type in of_types
        }
        return EpochListing(groups, complete=all(map(_listed, answers)))

    def begin_round(self) -> None:
        """Begin a round of `describe` with ``repeated``; drop requests that were not in the last round."""
        self._equal.begin_round()

    def describe(self, groups: Mapping[str, Place], *, repeated: bool = False) -> EpochDescriptions:
        """Describe ``groups``.

        ``repeated``: the same groups are described in every round, so equal responses lead to the same values and are
        decoded once. Only one thread may use it.

        Raises:
            ClusterError: no broker answers.
        """
        by_place: dict[Place, list[str]] = {}
        for name, place in groups.items():
            by_place.setdefault(place, []).append(name)
        refused: dict[str, str] = {}
        asked = []
        for place, names in by_place.items():
            api = _APIS[place.group_type]
            version = self._client.newest(api.key, api.versions)
            if version is None:
                problem = f"the brokers support no version of {api.name} that this release supports"
                refused |= dict.fromkeys(names, problem)
            else:
                asked.append((place, api, version, names))
        answers = self._client(
            [
                (place.node, FrameRequest(api.key, version, partial(_encode, api, version, names)))
                for place, api, version, names in asked
            ]
        )
        described: list[DescribedGroup] = []
        for (place, api, version, names), frame in zip(asked, answers, strict=True):
            key = place, version, tuple(names)
            equal = self._equal.value(key, frame) if repeated and isinstance(frame, bytes) else None
            answer = equal or _described(api, frame, version, place.group_type, set(names))
            if repeated and not equal and isinstance(frame, bytes):
                self._equal.add(key, frame, answer)
            described += answer.groups
            refused |= answer.refused
        return EpochDescriptions(described, refused)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _listed(answer: Any) -> bool:  # noqa: ANN401 - of kafka-python, or an error
    return not isinstance(answer, ClusterError) and not answer.error_code


def _encode(api: DescribeApi, version: int, names: Collection[str], correlation_id: int, client_id: str) -> bytes:
    return api.encode(correlation_id, client_id, list(names), version)


def _described(
    api: DescribeApi, frame: bytes | ClusterError, version: int, group_type: GroupType, names: set[str]
) -> EpochDescriptions:
    if isinstance(frame, ClusterError):
        return EpochDescriptions([], dict.fromkeys(names, str(frame)))
    try:
        groups = [group for group in api.decode(frame, version) if group["group_id"] in names]
    except DecodeError as error:
        return EpochDescriptions([], dict.fromkeys(names, str(error)))
    described = [described for group in groups if (described := described_epochs(group, group_type))]
    return EpochDescriptions(described, {group["group_id"]: why for group in groups if (why := refusal(group))})
