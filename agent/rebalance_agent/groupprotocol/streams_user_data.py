"""User data of classic Kafka Streams groups: a member's process, and the tasks that its leader assigned to it.

Source: KIP-130, KIP-441 and the assignor's protocol versions of Kafka Streams. Both messages begin with an int32
version and, since version 3, the newest version that the sender supports; all numbers are big-endian.

- A subscription continues with the 16 bytes of the process id.
- An assignment continues with an array of active tasks, one for each assigned partition in the order of topics and
  partitions; then an array of standby tasks, each with the changelog partitions that it reads. A task is the number of
  its subtopology and the number of its partition; since version 10 the name of its topology follows, empty for most
  applications, as an array of UTF-16 code units.

The fields that follow are not read: endpoints, offsets, tags and the time of the next rebalance.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.wire.byte_reader import Reader, WireError
from rebalance_agent.groupprotocol.wire.primitives import INT32, STRING, UINT16, UUID_BYTES, Array, Form
from rebalance_agent.groupprotocol.wire.schema import Field, Struct

__all__ = [
    "NEWEST_VERSION",
    "STREAMS_ASSIGNOR",
    "StreamsAssignment",
    "StreamsTask",
    "decode_process_id",
    "decode_streams_assignment",
]

STREAMS_ASSIGNOR = "stream"
"""The name of Kafka Streams' assignor, the protocol of its classic groups."""

NEWEST_VERSION = 11
"""Newest version that is read. Versions do not only append fields, so newer versions are refused."""

_LATEST_SUPPORTED_SINCE = 3
_UUID_GROUPS = (0, 8, 12, 16, 20, 32)
"""Where the groups of digits of a UUID begin and end."""

_INT32 = struct.Struct(">i")
_TASK = Struct(Field("subtopology", INT32), Field("partition", INT32), Field("topology", Array(UINT16), since=10))
_CHANGELOGS = Array(Struct(Field("topic", STRING), Field("partition", INT32)))
_ASSIGNMENT = Struct(
    Field("active", Array(_TASK)),
    Field("standbys", Array(Struct(Field("task", _TASK), Field("changelogs", _CHANGELOGS)))),
)
_CODECS = {version: _ASSIGNMENT.codec(Form(version, flexible=False)) for version in range(1, NEWEST_VERSION + 1)}


class StreamsTask(NamedTuple):
    """A task. ``subtopology``: its number; if the topology has a name, after that name and two underscores."""

    subtopology: str
    partition: int


class StreamsAssignment(NamedTuple):
    """The tasks of a member, that is of one thread. ``active`` has one entry for each assigned partition, in order."""

    active: tuple[StreamsTask, ...]
    standbys: tuple[StreamsTask, ...]


def decode_process_id(data: bytes) -> str:
    """Return the process of a member, a UUID in its usual form, from the user data of its subscription.

    Raises:
        DecodeError: the bytes are not that, or of a newer version than `NEWEST_VERSION`.
    """
    reader = Reader(data)
    try:
        _read_version(reader)
        digits = reader.take(UUID_BYTES).hex()
    except WireError as error:
        raise DecodeError(error.describe("Kafka Streams' subscription")) from None
    return "-".join(digits[start:end] for start, end in pairwise(_UUID_GROUPS))


def decode_streams_assignment(data: bytes) -> StreamsAssignment:
    """Return the tasks of a member, from the user data of its assignment.

    Raises:
        DecodeError: the bytes are not that, or of a newer version than `NEWEST_VERSION`.
    """
    reader = Reader(data)
    try:
        fields = _CODECS[_read_version(reader)].read(reader)
        return StreamsAssignment(_tasks(fields["active"]), _tasks(standby["task"] for standby in fields["standbys"]))
    except WireError as error:
        raise DecodeError(error.describe("Kafka Streams' assignment")) from None


def _read_version(reader: Reader) -> int:
    version = reader.number(_INT32)
    if version not in _CODECS:
        raise WireError(f"version {version} is not known", 0)
    if version >= _LATEST_SUPPORTED_SINCE:
        reader.number(_INT32)
    return version


def _tasks(rows: Iterable[Mapping[str, Any]]) -> tuple[StreamsTask, ...]:
    return tuple(StreamsTask(_subtopology(row), row["partition"]) for row in rows)


def _subtopology(row: Mapping[str, Any]) -> str:
    units = row.get("topology", ())
    if not units:
        return str(row["subtopology"])
    name = struct.pack(f">{len(units)}H", *units).decode("utf-16-be", "replace")
    return f"{name}__{row['subtopology']}"
