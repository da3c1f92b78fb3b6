"""Selects the records of shown groups in ``__consumer_offsets``, and decodes them into observations.

Nearly all records are offset commits: commits are recognised from the first two bytes of their key and never decoded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.topic_reader import TopicRecord, leader_epoch_of
from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.group_fact import (
    COMMIT_KEYS_END,
    COMMIT_KEYS_START,
    GROUP_FACT_KINDS,
    ClassicGroupFact,
    group_fact,
)
from rebalance_agent.groupprotocol.records import UNKNOWN, decode_record, key_version, record_kind
from rebalance_agent.groupprotocol.wire.memo import remembered
from rebalance_agent.offsets_topic.record_decoder import decode_counted
from rebalance_agent.offsets_topic.work_share.record_claims import bounded_claims
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord
from rebalance_agent.tracking.observed_record import observed_record

__all__ = ["GroupRecords"]

KEYS_MAX = 20_000
"""Maximum number of keys in the cache of shown groups, about 4 MB: the same keys occur repeatedly."""


class GroupRecords:
    """Selects and decodes the records of shown groups. Its methods never raise, for any bytes of a record.

    ``topic_sizes``: the partition count of each topic; empty until they are known.
    """

    def __init__(self, context: CollectorContext) -> None:
        """Count with the meters of ``context``."""
        self._shows = context.shows
        self._meters = context.meters
        self._clock = context.clock
        self._shown = remembered(self._is_shown, KEYS_MAX)
        self.topic_sizes: Mapping[str, int] = {}

    def of_groups(self, messages: Sequence[TopicRecord]) -> list[tuple[TopicRecord, bytes]]:
        """Return the records of shown groups among ``messages`` in their order, each with its key."""
        keys = [message.key() or b"" for message in messages]
        if messages:
            self._meters.read(len(messages), sum(map(len, keys)) + sum(map(len, messages)))
        records = []
        unknown = 0
        # Nearly all records are commits, a million at a start, so each record costs only this comparison.
        others = [index for index, key in enumerate(keys) if not COMMIT_KEYS_START <= key < COMMIT_KEYS_END]
        for message, key in [(messages[index], keys[index]) for index in others]:
            kind = record_kind(key)
            shown = self._shown(key) if kind in GROUP_FACT_KINDS else False
            if shown:
                records.append((message, key))
            elif shown is None or key_version(key) is None:
                self._meters.decode_error(key_version(key))
            elif kind == UNKNOWN:
                unknown += 1
        if unknown:
            self._meters.unknown_record("key_version", unknown)
        return records

    def decode(
        self,
        message: TopicRecord,
        *,
        live: bool,
        replayed: bool = False,
        gap_offset: int = -1,
        seen_ms: int | None = None,
    ) -> GroupRecord | EpochRecord | None:
        """Return a group's record as an observation; count it and return None if it is malformed or of unknown version.

        ``live``, ``replayed``, ``gap_offset``, ``seen_ms``: as in `GroupRecord`; ``seen_ms`` is the current time by
        default. The claims of a classic group are bounded (`bounded_claims`).
        """
        record = decode_counted(self._meters, message.key() or b"", message.value())
        fact = None if record is None else group_fact(record)
        if fact is None:
            return None
        if isinstance(fact, ClassicGroupFact) and fact.value is not None:
            fact = fact._replace(value=bounded_claims(fact.value, self.topic_sizes))
        return observed_record(
            fact,
            message.timestamp()[1],
            self._clock.now_ms() if seen_ms is None else seen_ms,
            message.partition(),
            message.offset(),
            live=live,
            replayed=replayed,
            gap_offset=gap_offset,
            leader_epoch=leader_epoch_of(message),
        )

    def _is_shown(self, key: bytes) -> bool | None:
        """Whether the group of this key is shown; None if the key is malformed."""
        try:
            return self._shows(decode_record(key, None).group)
        except DecodeError:
            return None
