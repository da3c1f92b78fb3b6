"""Reads the group and the acknowledgements in requests of ShareFetch and ShareAcknowledge (KIP-932, KIP-1222)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from rebalance_agent.groupprotocol.requests.share_responses import SHARE_ACKNOWLEDGE, SHARE_FETCH, SharePartition
from rebalance_agent.groupprotocol.wire.byte_reader import decode_whole
from rebalance_agent.groupprotocol.wire.frames import read_request
from rebalance_agent.groupprotocol.wire.primitives import INT8, INT32, INT64, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct, struct_codec

__all__ = ["SHARE_FIELDS", "AcknowledgeType", "ShareRequest", "read_share_request"]

_NAMES = {SHARE_FETCH: "ShareFetchRequest", SHARE_ACKNOWLEDGE: "ShareAcknowledgeRequest"}


class AcknowledgeType(IntEnum):
    """The result of an acquired record, from its consumer. A gap is an offset without a record."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


_BATCH = Struct(Field("first_offset", INT64), Field("last_offset", INT64), Field("acknowledge_types", Array(INT8)))
_PARTITION = Struct(Field("partition_index", INT32), Field("acknowledgement_batches", Array(_BATCH)))
_TOPICS = Field("topics", Array(Struct(Field("topic_id", UUID), Field("partitions", Array(_PARTITION)))))
_MEMBER = (
    Field("group_id", STRING, nullable_since=0),
    Field("member_id", STRING, nullable_since=0),
    Field("share_session_epoch", INT32),
)
_FORGOTTEN = Struct(Field("topic_id", UUID), Field("partitions", Array(INT32)))
SHARE_FIELDS: Mapping[int, tuple[Field, ...]] = {
    SHARE_FETCH: (
        *_MEMBER,
        *(Field(name, INT32) for name in ("max_wait_ms", "min_bytes", "max_bytes", "max_records", "batch_size")),
        Field("share_acquire_mode", INT8, since=2),
        Field("is_renew_ack", INT8, since=2),
        _TOPICS,
        Field("forgotten_topics_data", Array(_FORGOTTEN)),
    ),
    SHARE_ACKNOWLEDGE: (*_MEMBER, Field("is_renew_ack", INT8, since=2), _TOPICS),
}
"""API key -> the fields of the request."""

_CODECS = {
    (key, version): struct_codec(fields, version, flexible=True)
    for key, fields in SHARE_FIELDS.items()
    for version in (1, 2)
}


@dataclass(frozen=True, slots=True)
class ShareRequest:
    """A request. ``group``: empty if the request does not name it. ``acknowledged``: numbers of offsets, by type.

    ``fetched``: the partitions in a ShareFetch: those that the consumer adds to its share session, and those with
    acknowledgements.
    """

    group: str
    acknowledged: Mapping[SharePartition, Mapping[AcknowledgeType, int]]
    fetched: frozenset[SharePartition] = frozenset()


def read_share_request(api_key: int, version: int, frame: bytes) -> ShareRequest | None:
    """Read a request of one of the two APIs, a whole frame after its length; None if the version is not known.

    Raises:
        DecodeError: the bytes do not follow their schema.
    """
    codec = _CODECS.get((api_key, version))
    if codec is None:
        return None
    what = f"{_NAMES[api_key]} v{version}"
    fields = decode_whole(what, frame, lambda reader: read_request(reader, codec))
    topics = fields["topics"]
    named = ((topic["topic_id"], each["partition_index"]) for topic in topics for each in topic["partitions"])
    fetched = frozenset(named) if api_key == SHARE_FETCH else frozenset[SharePartition]()
    return ShareRequest(fields["group_id"] or "", dict(_acknowledged(topics)), fetched)


def _acknowledged(topics: list[dict[str, Any]]) -> Iterator[tuple[SharePartition, Mapping[AcknowledgeType, int]]]:
    for topic in topics:
        for partition in topic["partitions"]:
            if batches := partition["acknowledgement_batches"]:
                yield (topic["topic_id"], partition["partition_index"]), _by_type(batches)


def _by_type(batches: list[dict[str, Any]]) -> Mapping[AcknowledgeType, int]:
    numbers: Counter[AcknowledgeType] = Counter()
    for batch in batches:
        types = batch["acknowledge_types"]
        # One type holds for the whole batch; otherwise each offset has its own.
        each = batch["last_offset"] - batch["first_offset"] + 1 if len(types) == 1 else 1
        for code in types:
            if code in _TYPES and each > 0:
                numbers[_TYPES[code]] += each
    return numbers


_TYPES = {int(each): each for each in AcknowledgeType}
