"""Bytes that do not let a decoder read past their end, or work on them for longer than they are worth."""

from __future__ import annotations

from typing import Any

__all__ = ["PARTS_MAX", "REREAD_TIMES_MAX", "BoundedBytes"]

VARINT_BYTES_MAX = 5
"""A varint of 32 bits."""

REREAD_TIMES_MAX = 64
"""How often a frame may be copied while it is read. kafka-python copies all that is left for every struct that has
tagged fields, which real messages have once or twice, and hostile ones in each of a million elements."""

PARTS_MAX = 100_000
"""Texts and bytes in a frame: a group of ten thousand members has three or four of each. Every other connection waits
while they are read; those of a JoinGroup of 16 MiB may be millions, which takes ten seconds."""

_HIGH_BIT = 0x80


class BoundedBytes(bytes):
    """Raises where ``bytes`` would give less than was asked for, or a decoder go on for ever."""

    _high = 0
    _copied = 0
    _parts = 0

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 - as bytes has it
        """One byte, which decoders read of varints alone, or a slice, of which all must be there.

        Raises:
            IndexError: there is less.
            ValueError: this was too long a varint, or one of too many parts or copies.
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
