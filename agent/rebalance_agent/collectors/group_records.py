"""Records of ``__consumer_offsets`` -> observations: what is skipped, counted, shown, and decoded.

Nearly all records are offset commits: they are told by two bytes of their key and never looked into.
"""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_agent.collectors.context import Context
from rebalance_agent.collectors.topic_reader import TopicRecord
from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.classic import classic_group
from rebalance_agent.groupprotocol.epochs import EPOCH_FACTS, about, epoch_fact
from rebalance_agent.groupprotocol.records import UNKNOWN, decode_record, record_kind
from rebalance_agent.groupprotocol.tables import GROUP_METADATA, OFFSET_COMMIT
from rebalance_agent.rebalances.observations import EpochRecord, GroupRecord

__all__ = ["GroupRecords"]

_TOLD = frozenset({GROUP_METADATA.kind, *EPOCH_FACTS})
"""Kinds of records that say something of a rebalance."""


class GroupRecords:
    """Finds and decodes the records of the groups that are shown; nothing in a record can raise out of it."""

    def __init__(self, context: Context) -> None:
        """Count to the context's meters."""
        self._shows = context.shows
        self._meters = context.meters
        self._clock = context.clock

    def of_groups(self, messages: Sequence[TopicRecord]) -> list[tuple[TopicRecord, bytes]]:
        """The records of shown groups among ``messages`` in their order, each with its key."""
        found = []
        size = 0
        unknown = 0
        for message in messages:
            key = message.key() or b""
            size += len(key) + len(message.value() or b"")
            kind = record_kind(key)
            if kind == OFFSET_COMMIT.kind:
                continue
            if kind == UNKNOWN:
                unknown += 1
            elif kind in _TOLD and (group := self._group(key)) is not None and self._shows(group):
                found.append((message, key))
        if messages:
            self._meters.read(len(messages), size)
        if unknown:
            self._meters.unknown_record("key_version", unknown)
        return found

    def decode(
        self, message: TopicRecord, *, live: bool, replayed: bool = False, after_gap: bool = False
    ) -> GroupRecord | EpochRecord | None:
        """What a group's record says; None (and counted) where it is malformed or of an unknown version.

        ``live``, ``replayed``, ``after_gap``: as in `GroupRecord`.
        """
        key = message.key() or b""
        try:
            record = decode_record(key, message.value())
        except DecodeError:
            self._malformed(key)
            return None
        if record.unknown:
            self._meters.unknown_record("value_version")
            return None
        _, timestamp = message.timestamp()
        now_ms = self._clock.now_ms()
        subject = about(record)
        if subject is None:
            return GroupRecord(
                record.group,
                timestamp,
                now_ms,
                classic_group(record),
                live,
                message.partition(),
                message.offset(),
                replayed,
                after_gap,
            )
        group_type, kind, name = subject
        return EpochRecord(
            record.group,
            timestamp,
            now_ms,
            group_type,
            kind,
            epoch_fact(record),
            name,
            message.partition(),
            live,
            message.offset(),
            replayed,
        )

    def _group(self, key: bytes) -> str | None:
        try:
            return decode_record(key, None).group
        except DecodeError:
            self._malformed(key)
            return None

    def _malformed(self, key: bytes) -> None:
        self._meters.decode_error(int.from_bytes(key[:2], "big", signed=True))
