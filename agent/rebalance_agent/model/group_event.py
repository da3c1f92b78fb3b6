"""Fields that all events about a group share, derived from the coordinator's records; and the ids of events."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupType

__all__ = ["GroupEvent", "digest", "event_id", "process_event_id"]


@dataclass(frozen=True, slots=True)
class GroupEvent:
    """An event of one group; ``timestamp_ms`` is by the coordinator's clock."""

    event_id: str
    cluster_id: str
    group: str
    timestamp_ms: int
    source: Source
    group_type: GroupType


def event_id(
    kind: str,
    cluster_id: str,
    group: str,
    group_type: GroupType,
    generation: int,
    timestamp_ms: int,
    *,
    member_id: str = "",
    part: int = 0,
) -> str:
    """Return the id of a group's fact: 32 hexadecimal digits, derived from its content.

    ``timestamp_ms`` is the timestamp of the closing record: a group that was deleted and created again, or a static
    member that returns within one generation, then gets another id.
    """
    return digest(kind, cluster_id, group, group_type, generation, timestamp_ms, member_id, part)


def process_event_id(kind: str, process: str, sequence: int) -> str:
    """Return the id of a fact that one process reports about itself; it is the same at each retry."""
    return digest(kind, process, sequence)


def digest(*parts: str | int) -> str:
    """Return 32 hexadecimal digits of a hash of ``parts``, in their order; the same in every process and release."""
    # Each text follows its length, so that different tuples never produce equal bytes.
    texts = [str(part).encode("utf-8", "surrogatepass") for part in parts]
    joined = b"".join(len(text).to_bytes(4, "big") + text for text in texts)
    return hashlib.blake2b(joined, digest_size=16).hexdigest()
