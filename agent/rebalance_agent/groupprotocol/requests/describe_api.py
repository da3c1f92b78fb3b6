"""Requests that describe groups whose coordinator assigns: one API for each type of group, with equal requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rebalance_agent.groupprotocol.wire.byte_reader import decode_whole
from rebalance_agent.groupprotocol.wire.frames import read_response, request_frame
from rebalance_agent.groupprotocol.wire.primitives import INT8, INT16, INT32, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct, struct_codec

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


class DescribeApi:
    """One of these APIs: encodes its requests and decodes its responses. All versions are flexible (KIP-482)."""

    def __init__(self, key: int, name: str, group: Sequence[Field], versions: range) -> None:
        """``group``: the fields of each group in a response. ``versions``: the versions that are known here.

        ``answers``: version -> reader and writer of the response.
        """
        self.key, self.name, self.versions = key, name, versions
        answer = (Field("throttle_time_ms", INT32), Field("groups", Array(Struct(*group))))
        self._requests = {version: struct_codec(_REQUEST, version, flexible=True) for version in versions}
        self.answers = {version: struct_codec(answer, version, flexible=True) for version in versions}

    def encode(self, correlation_id: int, client_id: str, groups: Sequence[str], version: int) -> bytes:
        """Encode a request for ``groups`` as a frame without its length.

        Raises:
            InvalidInputError: a name is too long.
        """
        fields = {"group_ids": list(groups), "include_authorized_operations": 0}
        return request_frame(self.key, version, correlation_id, client_id, self._requests[version], fields)

    def decode(self, frame: bytes, version: int) -> list[dict[str, Any]]:
        """Decode a response, a whole frame after its length, to its groups in the order of the request.

        Raises:
            DecodeError: the bytes do not follow the schema.
        """
        what = f"{self.name}Response v{version}"
        answer = decode_whole(what, frame, lambda reader: read_response(reader, self.answers[version]))
        groups: list[dict[str, Any]] = answer["groups"]
        return groups
