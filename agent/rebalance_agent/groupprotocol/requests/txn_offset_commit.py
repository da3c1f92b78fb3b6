"""TxnOffsetCommit version 6 (KIP-1319), which identifies topics by id. kafka-python has the earlier versions.

The fields have the names of kafka-python's classes for those versions.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from rebalance_agent.groupprotocol.wire.byte_reader import decode_whole
from rebalance_agent.groupprotocol.wire.frames import read_request, read_response
from rebalance_agent.groupprotocol.wire.primitives import INT16, INT32, INT64, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct, struct_codec

__all__ = ["TOPIC_IDS_VERSION", "decode_txn_commit", "decode_txn_commit_answer"]

TOPIC_IDS_VERSION = 6
"""The version with topic ids."""

_COMMITTED = Struct(
    Field("partition_index", INT32),
    Field("committed_offset", INT64),
    Field("committed_leader_epoch", INT32),
    Field("committed_metadata", STRING, nullable_since=0),
)
_REQUEST = struct_codec(
    (
        Field("transactional_id", STRING),
        Field("group_id", STRING),
        Field("producer_id", INT64),
        Field("producer_epoch", INT16),
        Field("generation_id", INT32),
        Field("member_id", STRING),
        Field("group_instance_id", STRING, nullable_since=0),
        Field("topics", Array(Struct(Field("topic_id", UUID), Field("partitions", Array(_COMMITTED))))),
    ),
    TOPIC_IDS_VERSION,
    flexible=True,
)
_RESULT = Struct(Field("partition_index", INT32), Field("error_code", INT16))
_ANSWER = struct_codec(
    (
        Field("throttle_time_ms", INT32),
        Field("topics", Array(Struct(Field("topic_id", UUID), Field("partitions", Array(_RESULT))))),
    ),
    TOPIC_IDS_VERSION,
    flexible=True,
)


def decode_txn_commit(frame: bytes) -> Any:  # noqa: ANN401 - as kafka-python's messages, which are untyped
    """Decode a request: the whole frame after its length, header included. ``generation_id`` may be an epoch.

    Raises:
        DecodeError: the bytes do not follow the schema.
    """
    what = f"TxnOffsetCommitRequest v{TOPIC_IDS_VERSION}"
    return _message(decode_whole(what, frame, lambda reader: read_request(reader, _REQUEST)))


def decode_txn_commit_answer(frame: bytes) -> Any:  # noqa: ANN401 - as above
    """Decode a response; the frame as in `decode_txn_commit`.

    Raises:
        DecodeError: the bytes do not follow the schema.
    """
    what = f"TxnOffsetCommitResponse v{TOPIC_IDS_VERSION}"
    return _message(decode_whole(what, frame, lambda reader: read_response(reader, _ANSWER)))


def _message(value: Any) -> Any:  # noqa: ANN401
    """Decoded structs as objects with attributes."""
    if isinstance(value, dict):
        return SimpleNamespace(**{name: _message(field) for name, field in value.items()})
    return [_message(item) for item in value] if isinstance(value, list | tuple) else value
