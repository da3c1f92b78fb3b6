"""One partition of the offsets topic, as brokers store it and as a client reads it."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_agent.groupprotocol.tables import OFFSET_COMMIT

GROUP = "g"


def commit_key(partition, group=GROUP, topic="t"):
    return OFFSET_COMMIT.key.encode(1, {"group": group, "topic": topic, "partition": partition})


def commit_value(offset):
    return OFFSET_COMMIT.value.encode(3, {"offset": offset, "metadata": "", "commit_timestamp": 1})


@dataclass
class Shown:
    """A record as a client reads it."""

    at: int
    key_bytes: bytes
    value_bytes: bytes | None
    timestamp_ms: int = 0

    def __len__(self):
        return len(self.value_bytes or b"")

    def timestamp(self):
        return 1, self.timestamp_ms

    def leader_epoch(self):
        return None

    def partition(self):
        return 0

    def offset(self):
        return self.at

    def key(self):
        return self.key_bytes

    def value(self):
        return self.value_bytes


class Batches:
    """A reader of partition 0 that returns these records in batches of at most ``most`` records."""

    def __init__(self, records, most):
        self.records, self.most, self.positions = list(records), most, {0: 0}

    def read(self, *_):
        batch, self.records = self.records[: self.most], self.records[self.most :]
        self.positions = {0: batch[-1].offset() + 1}
        return batch


@dataclass
class OffsetsPartition:
    """A partition with commits and transactions. ``counts``: the result of OffsetFetch, by partition of topic t."""

    records: list[Shown] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=dict)
    end: int = 0
    open: dict[str, tuple[int, list[tuple[int, int]]]] = field(default_factory=dict)

    def commit(self, partition, offset, transaction=None):
        """Add a commit (``offset`` None: a tombstone). It has effect at once unless it belongs to a transaction."""
        value = None if offset is None else commit_value(offset)
        if transaction is not None:
            self.open.setdefault(transaction, (self.end, []))[1].append((partition, offset))
        elif offset is None:
            self.counts.pop(partition, None)
        else:
            self.counts[partition] = offset
        self._append(commit_key(partition), value)

    def something_else(self):
        """Add a record that contains no offset."""
        self._append(b"\0\2\0\1g", b"")

    def finish(self, transaction, *, commit):
        """End the transaction; its marker takes an offset, but no client reads it."""
        _, commits = self.open.pop(transaction)
        if commit:
            self.counts |= dict(commits)
        self.end += 1

    @property
    def stable(self):
        """The last stable offset."""
        return min((first for first, _ in self.open.values()), default=self.end)

    def _append(self, key, value):
        self.records.append(Shown(self.end, key, value))
        self.end += 1
