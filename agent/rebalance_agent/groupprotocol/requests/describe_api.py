"""Requests that describe groups whose coordinator assigns: one API for each type of group, with equal requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rebalance_agent.groupprotocol.requests.flexible_api import FlexibleApi
from rebalance_agent.groupprotocol.wire.primitives import INT8, INT16, INT32, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = ["ASSIGNMENT", "GROUP_HEAD", "DescribeApi"]

_REQUEST = (Field("group_ids", Array(STRING)), Field("include_authorized_operations", INT8))

GROUP_HEAD = (
    Field("error_code", INT16),
    Field("error_message", STRING, nullable_since=0),
    Field("group_id", STRING),
    Field("group_state", STRING),
    Field("group_epoch", INT32),
    Field("assignment_epoch", INT32),
)
"""The first fields of each group, the same in all APIs."""

ASSIGNMENT = Struct(
    Field(
        "topic_partitions",
        Array(Struct(Field("topic_id", UUID), Field("topic_name", STRING), Field("partitions", Array(INT32)))),
    )
)
"""Partitions of a member of a consumer or share group."""


class DescribeApi(FlexibleApi):
    """One of these APIs: encodes requests for groups, and decodes responses to groups."""

    def __init__(
        self, key: int, name: str, group: Sequence[Field], versions: range, asked: tuple[Field, ...] = ()
    ) -> None:
        """``group``: the fields of each group in a response. ``asked``: further fields of requests."""
        answer = (Field("throttle_time_ms", INT32), Field("groups", Array(Struct(*group))))
        super().__init__(key, name, versions, (*_REQUEST, *asked), answer)
        self._unasked = {field.name: 0 for field in asked}

    def encode(self, correlation_id: int, client_id: str, groups: Sequence[str], version: int, **asked: int) -> bytes:
        """Encode a request for ``groups`` as a frame without its length.

        ``asked``: further fields, by default 0; they are left out in versions without them.

        Raises:
            InvalidInputError: a name is too long.
        """
        fields = {"group_ids": list(groups), "include_authorized_operations": 0, **self._unasked, **asked}
        return self.encode_request(version, correlation_id, client_id, fields)

    def decode(self, frame: bytes, version: int) -> list[dict[str, Any]]:
        """Decode a response, a whole frame after its length, to its groups in the order of the request.

        Raises:
            DecodeError: the bytes do not follow the schema.
        """
        groups: list[dict[str, Any]] = self.decode_answer(version, frame)["groups"]
        return groups
