"""Bytes that limit their decoder: it cannot read past the end, nor spend too long on hostile input."""

from __future__ import annotations

from typing import Any

__all__ = ["PARTS_MAX", "REREAD_TIMES_MAX", "BoundedBytes"]

VARINT_BYTES_MAX = 5
"""Longest varint of 32 bits, in bytes."""

REREAD_TIMES_MAX = 64
"""How many times a frame's bytes may be copied while it is read. kafka-python copies the rest of the frame for every
struct with tagged fields. Real messages have one or two such structs; hostile messages may have one in each of a
million elements."""

PARTS_MAX = 100_000
"""Maximum number of slices (strings and bytes) read from a frame: a group of ten thousand members has three or four for
each member. All other connections wait while a frame is decoded, and a JoinGroup of 16 MiB may have millions of slices,
which take ten seconds."""

_HIGH_BIT = 0x80


class BoundedBytes(bytes):
    """Bytes that raise an error if a slice goes past the end, and after too many slices or copies."""

    _high = 0
    _copied = 0
    _parts = 0

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 - as in bytes
        """Return one byte (decoders read single bytes only for varints), or a complete slice.

        Raises:
            IndexError: the slice goes past the end.
            ValueError: the varint is too long, or there are too many slices or copies.
        """
        value = super().__getitem__(key)
        if isinstance(key, slice):
            self._slice(key, value)
        elif value & _HIGH_BIT:
            self._high += 1
            if self._high >= VARINT_BYTES_MAX:
                raise ValueError("a varint has more than 32 bits")
        else:
            self._high = 0
        return value

    def _slice(self, key: slice, value: bytes) -> None:
        self._high = 0
        self._parts += 1
        if self._parts > PARTS_MAX:
            raise ValueError(f"it has more than {PARTS_MAX} parts")
        if key.stop is None:
            self._copied += len(value)
            if self._copied > REREAD_TIMES_MAX * len(self):
                raise ValueError("too many structs have tagged fields")
        elif key.start < 0 or key.stop < key.start or key.stop > len(self):
            raise IndexError("a length goes past the end")
