"""A bounds-checked reader of bytes, and Kafka's encodings of numbers.

Source: the "Protocol Primitive Types" of the Kafka protocol guide; KIP-482 for compact forms.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TypeVar

from rebalance_agent.errors import DecodeError

__all__ = ["Reader", "WireError", "as_text", "decode_whole", "write_uvarint"]

_T = TypeVar("_T")

UVARINT_BYTES_MAX = 5
"""Maximum number of bytes of an unsigned varint: Kafka's have 32 bits, seven in each byte."""


class WireError(Exception):
    """Bytes that do not follow the schema; it becomes a ``DecodeError`` where the name of the message is known.

    ``path`` collects the fields from the broken value outwards (``client_id``, ``[2]``, ``members``).
    """

    def __init__(self, problem: str, at: int) -> None:
        """State the ``problem`` and the offset ``at`` of the byte where it occurred."""
        super().__init__(problem)
        self.problem = problem
        self.at = at
        self.path: list[str] = []

    def describe(self, what: str) -> str:
        """Return one line: message ``what``, field, problem and byte offset."""
        where = "".join(part if part[0] == "[" else f".{part}" for part in reversed(self.path))
        return f"{what}{where}: {self.problem} at byte {self.at}"


class Reader:
    """Reads ``data`` forwards. ``at`` is the next offset; ``unknown_tags`` counts tagged fields that were unknown."""

    __slots__ = ("_data", "at", "unknown_tags")

    def __init__(self, data: bytes) -> None:
        """Start at offset 0."""
        self._data = data
        self.at = 0
        self.unknown_tags = 0

    @property
    def left(self) -> int:
        """The number of bytes that are not read yet."""
        return len(self._data) - self.at

    def number(self, form: struct.Struct) -> int:
        """Read the next fixed-width number.

        Raises:
            WireError: fewer bytes are left.
        """
        at = self.at
        try:
            value: int = form.unpack_from(self._data, at)[0]
        except struct.error:
            raise WireError(f"{form.size} bytes are needed, but only {self.left} are left", at) from None
        self.at = at + form.size
        return value

    def uvarint(self) -> int:
        """Read the next unsigned varint (KIP-482).

        Raises:
            WireError: the bytes end within it, or it has more than 32 bits.
        """
        value = shift = 0
        for byte in self._data[self.at : self.at + UVARINT_BYTES_MAX]:
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:  # noqa: PLR2004 - the top bit means that another byte follows
                return value
            shift += 7
        raise WireError("a varint has no end", self.at)

    def take(self, size: int) -> bytes:
        """Read the next ``size`` bytes (0 or more).

        Raises:
            WireError: fewer are left; no memory is allocated for a size that is only claimed.
        """
        at = self.at
        after = at + size
        if after > len(self._data):
            raise WireError(f"a length of {size} bytes, but only {self.left} are left", at)
        self.at = after
        return self._data[at:after]

    def sized(self, prefix: struct.Struct | None, nullable: bool) -> bytes | None:
        """Read a length, then as many bytes. The length has the format ``prefix``; None: a varint of length + 1.

        Raises:
            WireError: fewer bytes are left, or null is not allowed here.
        """
        start = self.at
        size = self.uvarint() - 1 if prefix is None else self.number(prefix)
        at = self.at
        after = at + size
        if at <= after <= len(self._data):  # as `take` does, without the call: decoding is mostly this
            self.at = after
            return self._data[at:after]
        if size >= 0:
            raise WireError(f"a length of {size} bytes, but only {self.left} are left", at)
        if nullable:
            return None
        raise WireError("null where a value is required", start)

    def count(self, prefix: struct.Struct | None, item_size: int, nullable: bool) -> int | None:
        """Read the number of items that follow, each of at least ``item_size`` bytes; ``prefix`` as in `sized`.

        Raises:
            WireError: that many items do not fit into the remaining bytes, or null is not allowed here.
        """
        start = self.at
        count = self.uvarint() - 1 if prefix is None else self.number(prefix)
        if count < 0:
            if nullable:
                return None
            raise WireError("null where a value is required", start)
        if count * item_size > self.left:
            raise WireError(f"a count of {count}, but only {self.left} bytes are left", self.at)
        return count

    def numbers(self, code: str, count: int) -> tuple[int, ...]:
        """Read the next ``count`` numbers of one ``struct`` format; the caller has checked that they are there."""
        form = f">{count}{code}"
        at = self.at
        self.at = at + struct.calcsize(form)
        return struct.unpack_from(form, self._data, at)

    def end(self) -> None:
        """Check that all bytes were read.

        Raises:
            WireError: bytes are left.
        """
        if self.left:
            raise WireError(f"{self.left} unexpected bytes", self.at)


def decode_whole(what: str, data: bytes, read: Callable[[Reader], _T]) -> _T:
    """Return what ``read`` reads, which must be all of ``data``; ``what`` names it in errors.

    Raises:
        DecodeError: the bytes break the format, or some are left.
    """
    reader = Reader(data)
    try:
        value = read(reader)
        reader.end()
    except WireError as error:
        raise DecodeError(error.describe(what)) from None
    return value


def as_text(content: bytes, end: int) -> str:
    """Decode UTF-8; ``end`` is the offset of the byte after ``content``.

    Raises:
        WireError: it is not UTF-8.
    """
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise WireError("text is not UTF-8", end - len(content) + error.start) from None


def write_uvarint(out: bytearray, value: int) -> None:
    """Append ``value`` (0 to 2**32 - 1) as an unsigned varint."""
    while value > 0x7F:  # noqa: PLR2004 - seven bits fit into a byte
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
