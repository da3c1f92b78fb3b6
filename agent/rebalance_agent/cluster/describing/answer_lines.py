"""Lines of JSON between the describing process and its parent: properties, requests and answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from rebalance_agent.cluster.admin_answers import NO_ANSWER
from rebalance_agent.cluster.group_answers import committed_offsets, described_group, group_state
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.tracking.observations import DescribedGroup
from rebalance_agent.tracking.views import MemberLoad

__all__ = [
    "END",
    "GroupAnswer",
    "answer_line",
    "offsets_line",
    "offsets_request_line",
    "read_answer",
    "read_offsets",
    "request_line",
]

END = b"{}\n"
"""The line after the last answer to a request."""


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """A coordinator's answer.

    ``state``, ``description``: None if the group's state is not in `GroupState`. ``operations``: the allowed operations
    by Kafka's names in lower case; None if they were not requested.
    """

    state: GroupState | None
    description: DescribedGroup | None
    operations: frozenset[str] | None


def request_line(groups: Sequence[str], operations: bool) -> bytes:
    """Encode a request to describe ``groups``, with the allowed ``operations`` or without."""
    return _line({"groups": list(groups), "operations": operations})


def offsets_request_line(groups: Sequence[str]) -> bytes:
    """Encode a request for the committed offsets of ``groups``."""
    return _line({"groups": list(groups), "offsets": True})


def answer_line(group: str, answer: Future[Any], connection_error: str) -> bytes:
    """Encode a coordinator's answer; if no broker answered, with the text of the last ``connection_error``."""
    try:
        found = answer.result()
    except KafkaException as error:
        return _error_line(group, error, connection_error)
    state, described, allowed = group_state(found), described_group(found), found.authorized_operations
    operations = None if allowed is None else sorted(operation.name.lower() for operation in allowed)
    return _line(
        {
            "group": group,
            "state": state and state.value,
            "description": described and asdict(described),
            "operations": operations,
        }
    )


def offsets_line(group: str, answer: Future[Any], connection_error: str) -> bytes:
    """Encode a group's committed offsets outside open transactions; ``connection_error`` as in `answer_line`."""
    try:
        offsets = committed_offsets(answer)
    except KafkaException as error:
        return _error_line(group, error, connection_error)
    return _line({"group": group, "offsets": [[*partition, offset] for partition, offset in offsets.items()]})


def _error_line(group: str, error: KafkaException, connection_error: str) -> bytes:
    code, text = error.args[0].code(), error.args[0].str()
    return _line({"group": group, "code": code, "text": (code in NO_ANSWER and connection_error) or text})


def read_offsets(line: bytes) -> tuple[str, Future[dict[Partition, int]]]:
    """Decode a line: the group's name, and its committed offsets or a `KafkaException`."""
    fields, future = json.loads(line), Future[dict[Partition, int]]()
    if not _failed(fields, future):
        future.set_result({(topic, number): offset for topic, number, offset in fields["offsets"]})
    return fields["group"], future


def read_answer(line: bytes) -> tuple[str, Future[GroupAnswer]]:
    """Decode a line: the group's name, and the answer or a `KafkaException`."""
    fields, future = json.loads(line), Future[GroupAnswer]()
    if _failed(fields, future):
        return fields["group"], future
    state, described, operations = fields["state"], fields["description"], fields["operations"]
    future.set_result(
        GroupAnswer(
            GroupState(state) if state else None,
            _described(described) if described else None,
            None if operations is None else frozenset(operations),
        )
    )
    return fields["group"], future


def _failed(fields: dict[str, Any], future: Future[Any]) -> bool:
    """Return whether the line is an error, which then is the future's exception."""
    if "code" not in fields:
        return False
    future.set_exception(KafkaException(KafkaError(fields["code"], fields["text"])))
    return True


def _described(fields: dict[str, Any]) -> DescribedGroup:
    return DescribedGroup(
        fields["group"],
        GroupState(fields["state"]),
        GroupType(fields["group_type"]),
        fields["assignor"],
        tuple(_member(member) for member in fields["members"]),
    )


def _member(fields: dict[str, Any]) -> MemberLoad:
    assigned = {topic: tuple(numbers) for topic, numbers in fields["assigned"].items()}
    return MemberLoad(fields["member_id"], fields["instance_id"], fields["client_id"], fields["host"], assigned)


def _line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"
