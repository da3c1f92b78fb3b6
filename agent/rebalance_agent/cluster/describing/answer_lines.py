"""Lines of JSON between the describing process and its parent: properties, requests and answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

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

_Found = TypeVar("_Found")

END = b"{}\n"
"""The line after the last answer to a request."""


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """A coordinator's answer.

    ``state``, ``description``: None if the group's state is not in `GroupState`. ``operations``: the allowed
    operations, as Kafka's names in lower case; None if they were not requested.
    """

    state: GroupState | None
    description: DescribedGroup | None
    operations: frozenset[str] | None


def request_line(groups: Sequence[str], operations: bool) -> bytes:
    """Encode a request to describe ``groups``; ``operations``: whether to include the allowed operations."""
    return _line({"groups": list(groups), "operations": operations})


def offsets_request_line(groups: Sequence[str]) -> bytes:
    """Encode a request for the committed offsets of ``groups``."""
    return _line({"groups": list(groups), "offsets": True})


def answer_line(group: str, answer: Future[Any], connection_error: str) -> bytes:
    """Encode a coordinator's answer; if no broker answered, include the text of the last ``connection_error``."""
    return _encoded(group, answer, connection_error, _group_fields)


def offsets_line(group: str, answer: Future[Any], connection_error: str) -> bytes:
    """Encode a group's committed offsets outside open transactions; ``connection_error`` as in `answer_line`."""
    return _encoded(group, answer, connection_error, _offset_fields)


def _encoded(
    group: str, answer: Future[Any], connection_error: str, fields: Callable[[Future[Any]], dict[str, Any]]
) -> bytes:
    try:
        found = fields(answer)
    except KafkaException as error:
        code, text = error.args[0].code(), error.args[0].str()
        found = {"code": code, "text": (code in NO_ANSWER and connection_error) or text}
    return _line({"group": group, **found})


def _group_fields(answer: Future[Any]) -> dict[str, Any]:
    found = answer.result()
    state, described, allowed = group_state(found), described_group(found), found.authorized_operations
    return {
        "state": state and state.value,
        "description": described and asdict(described),
        "operations": None if allowed is None else sorted(operation.name.lower() for operation in allowed),
    }


def _offset_fields(answer: Future[Any]) -> dict[str, Any]:
    return {"offsets": [[*partition, offset] for partition, offset in committed_offsets(answer).items()]}


def read_answer(line: bytes) -> tuple[str, Future[GroupAnswer]]:
    """Decode a line: the group's name, and the answer or a `KafkaException`."""
    return _decoded(line, _group_answer)


def read_offsets(line: bytes) -> tuple[str, Future[dict[Partition, int]]]:
    """Decode a line: the group's name, and its committed offsets or a `KafkaException`."""
    return _decoded(line, _offsets)


def _decoded(line: bytes, read: Callable[[dict[str, Any]], _Found]) -> tuple[str, Future[_Found]]:
    fields, future = json.loads(line), Future[_Found]()
    if "code" in fields:
        future.set_exception(KafkaException(KafkaError(fields["code"], fields["text"])))
    else:
        future.set_result(read(fields))
    return fields["group"], future


def _group_answer(fields: dict[str, Any]) -> GroupAnswer:
    state, described, operations = fields["state"], fields["description"], fields["operations"]
    return GroupAnswer(
        GroupState(state) if state else None,
        _described(described) if described else None,
        None if operations is None else frozenset(operations),
    )


def _offsets(fields: dict[str, Any]) -> dict[Partition, int]:
    return {(topic, number): offset for topic, number, offset in fields["offsets"]}


def _described(fields: dict[str, Any]) -> DescribedGroup:
    return DescribedGroup(
        fields["group"],
        GroupState(fields["state"]),
        GroupType(fields["group_type"]),
        fields["assignor"],
        tuple(_member(member) for member in fields["members"]),
        coordinator=fields["coordinator"],
    )


def _member(fields: dict[str, Any]) -> MemberLoad:
    assigned = {topic: tuple(numbers) for topic, numbers in fields["assigned"].items()}
    return MemberLoad(fields["member_id"], fields["instance_id"], fields["client_id"], fields["host"], assigned)


def _line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"
