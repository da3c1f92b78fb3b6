"""Decodes one record of ``__consumer_offsets`` to a fact about its group: a snapshot, an epoch fact, or a deletion.

Keys of the topic begin with their version (int16): offset commits first, records of groups after them. So offset
commits, nearly all of the topic, are skipped by comparing bytes, before anything is decoded.
"""

from __future__ import annotations

from typing import NamedTuple

from rebalance_agent.groupprotocol.classic_group import classic_group
from rebalance_agent.groupprotocol.epoch_facts import EPOCH_FACTS
from rebalance_agent.groupprotocol.records import Record
from rebalance_agent.groupprotocol.tables import GROUP_METADATA, OFFSET_COMMIT
from rebalance_agent.model.epoch_groups import EpochFact, GroupEpoch
from rebalance_agent.model.group import GroupSnapshot, GroupType

__all__ = [
    "COMMIT_KEYS_END",
    "COMMIT_KEYS_START",
    "GROUP_FACT_KINDS",
    "ClassicGroupFact",
    "EpochGroupFact",
    "GroupFact",
    "group_fact",
]

COMMIT_KEYS_START = OFFSET_COMMIT.key.versions[0].to_bytes(2, "big")
"""The lowest key of an offset commit."""

COMMIT_KEYS_END = (OFFSET_COMMIT.key.versions[-1] + 1).to_bytes(2, "big")
"""Every key of an offset commit is below this value, and no key of a group's record is."""

_CLASSIC = GROUP_METADATA.kind

GROUP_FACT_KINDS = frozenset({_CLASSIC, *EPOCH_FACTS})
"""Kinds of records (`groupprotocol.records.record_kind`) that state a fact about a group's rebalances."""


class ClassicGroupFact(NamedTuple):
    """The state of a classic group; ``value`` is None if the group was deleted."""

    group: str
    value: GroupSnapshot | None

    @property
    def group_type(self) -> GroupType:
        """Classic."""
        return GroupType.CLASSIC

    @property
    def deletes_group(self) -> bool:
        """Whether the record deletes the group itself."""
        return self.value is None


class EpochGroupFact(NamedTuple):
    """One fact of a consumer, share or streams group; ``value`` is None if the fact was deleted.

    ``kind`` is the class of the fact, even of a deleted fact. ``subject``: the member id or regular expression that the
    fact is about; empty for a fact about the whole group.
    """

    group: str
    group_type: GroupType
    kind: type[EpochFact]
    subject: str
    value: EpochFact | None

    @property
    def deletes_group(self) -> bool:
        """Whether the record deletes the group itself, and not only one of its facts."""
        return self.value is None and self.kind is GroupEpoch


GroupFact = ClassicGroupFact | EpochGroupFact


def group_fact(record: Record) -> GroupFact | None:
    """Return the fact that ``record`` states; None for kinds outside `GROUP_FACT_KINDS` and unknown value versions."""
    kind, value = record.kind, record.value
    if value is None and record.unknown:
        return None
    if kind == _CLASSIC:
        return ClassicGroupFact(record.key["group"], classic_group(record))
    row = EPOCH_FACTS.get(kind)
    if row is None:
        return None
    group_type, fact, read = row
    key = record.key
    subject = key.get("member_id") or key.get("regular_expression", "")
    return EpochGroupFact(key["group"], group_type, fact, subject, None if value is None else read(value))
