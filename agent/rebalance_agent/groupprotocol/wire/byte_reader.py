"""The lowest floor: a reader that never leaves its bytes, and the few ways in which Kafka writes a number.

Source: the "Protocol Primitive Types" of the Kafka protocol guide, KIP-482 for the compact forms.
"""

from __future__ import annotations

import struct

__all__ = ["Reader", "WireError", "as_text", "write_uvarint"]

UVARINT_BYTES_MAX = 5
"""Bytes of an unsigned varint: Kafka's hold 32 bits, seven in each byte."""


class WireError(Exception):
    """Bytes that cannot be what they should be; becomes a ``DecodeError`` once it is known what was being read.

    ``path`` collects the way from the broken value outwards (``client_id``, ``[2]``, ``members``).
    """

    def __init__(self, problem: str, at: int) -> None:
        """State the ``problem`` and the offset of the byte ``at`` which it was met."""
        super().__init__(problem)
        self.problem = problem
        self.at = at
        self.path: list[str] = []

    def describe(self, what: str) -> str:
        """One line: what was read, where in it, which byte, what is wrong."""
        where = "".join(part if part[0] == "[" else f".{part}" for part in reversed(self.path))
        return f"{what}{where}: {self.problem} at byte {self.at}"


class Reader:
    """Reads forward through ``data``. ``unknown_tags`` counts the tagged fields that no table knew."""

    __slots__ = ("_data", "at", "unknown_tags")

    def __init__(self, data: bytes) -> None:
        """Begin at the first byte."""
        self._data = data
        self.at = 0
        self.unknown_tags = 0

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return len(self._data) - self.at

    def number(self, form: struct.Struct) -> int:
        """The next fixed-width number.

        Raises:
            WireError: fewer bytes are left.
        """
        at = self.at
        try:
            value: int = form.unpack_from(self._data, at)[0]
        except struct.error:
            raise WireError(f"{form.size} bytes wanted, {self.left} left", at) from None
        self.at = at + form.size
        return value

    def uvarint(self) -> int:
        """The next unsigned varint (KIP-482).

        Raises:
            WireError: it does not end where the bytes do, or has more than 32 bits.
        """
        value = shift = 0
        for byte in self._data[self.at : self.at + UVARINT_BYTES_MAX]:
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:  # noqa: PLR2004 - the top bit says that another byte follows
                return value
            shift += 7
        raise WireError("a varint has no end", self.at)

    def take(self, size: int) -> bytes:
        """The next ``size`` bytes (0 or more).

        Raises:
            WireError: fewer are left; nothing is allocated for a size that is only claimed.
        """
        at = self.at
        after = at + size
        if after > len(self._data):
            raise WireError(f"a length of {size} bytes, {self.left} left", at)
        self.at = after
        return self._data[at:after]

    def sized(self, prefix: struct.Struct | None, nullable: bool) -> bytes | None:
        """The next bytes behind their length: a number, or where ``prefix`` is None a varint of length + 1.

        Raises:
            WireError: fewer bytes are left, or null stands where it may not.
        """
        start = self.at
        size = self.uvarint() - 1 if prefix is None else self.number(prefix)
        at = self.at
        after = at + size
        if at <= after <= len(self._data):  # as `take` does, without the call: this is most of all decoding
            self.at = after
            return self._data[at:after]
        if size >= 0:
            raise WireError(f"a length of {size} bytes, {self.left} left", at)
        if nullable:
            return None
        raise WireError("null where a value must be", start)

    def count(self, prefix: struct.Struct | None, item_size: int, nullable: bool) -> int | None:
        """How many items follow, each of at least ``item_size`` bytes; ``prefix`` as in `sized`.

        Raises:
            WireError: that many cannot follow, or null stands where it may not.
        """
        start = self.at
        count = self.uvarint() - 1 if prefix is None else self.number(prefix)
        if count < 0:
            if nullable:
                return None
            raise WireError("null where a value must be", start)
        if count * item_size > self.left:
            raise WireError(f"a count of {count}, {self.left} bytes left", self.at)
        return count

    def numbers(self, code: str, count: int) -> tuple[int, ...]:
        """The next ``count`` numbers of one ``struct`` format; the caller has checked that they are there."""
        form = f">{count}{code}"
        at = self.at
        self.at = at + struct.calcsize(form)
        return struct.unpack_from(form, self._data, at)

    def end(self) -> None:
        """Be done.

        Raises:
            WireError: there are bytes left.
        """
        if self.left:
            raise WireError(f"{self.left} bytes too many", self.at)


def as_text(content: bytes, end: int) -> str:
    """UTF-8 as text; ``end`` is the offset of the byte after it.

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
