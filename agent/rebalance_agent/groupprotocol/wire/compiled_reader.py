"""A table's reader as one straight function: the source is written from the fields and compiled, as dataclasses are.

It reads what nearly all messages are (whole, no tagged field sent) several times as fast as the readers of ``schema``.
Anything else it gives up on (`GIVEN_UP`), and those read the message again: they alone know errors, and where they are.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rebalance_agent.groupprotocol.wire.byte_reader import UVARINT_BYTES_MAX
from rebalance_agent.groupprotocol.wire.primitives import (
    BYTES,
    STRING,
    UUID,
    UUID_BYTES,
    Array,
    Number,
    Type,
    uuid_text,
)

if TYPE_CHECKING:
    from rebalance_agent.groupprotocol.wire.schema import Field

__all__ = ["GIVEN_UP", "StraightReader", "straight_reader"]

StraightReader = Callable[[bytes, int], dict[str, Any]]
"""Bytes and the offset of the first field -> the fields' values; what follows the last one is not looked at."""


class _NotPlainError(Exception):
    """Something that the straight reader does not read."""


GIVEN_UP = (_NotPlainError, IndexError, UnicodeDecodeError, struct.error)
"""What a `StraightReader` raises where the bytes are not whole, or hold what it does not read."""


def straight_reader(fields: Sequence[Field], version: int, *, flexible: bool) -> StraightReader:
    """The reader of these ``fields``, which ``version`` has."""
    source = _Source(version, flexible)
    source.line("def read(data, at):")
    with source.block():
        source.line("size = len(data)")
        source.line(f"return {source.struct(fields)}")
    names = dict(source.names)
    exec(compile(source.text(), f"<straight reader v{version}>", "exec"), names)  # noqa: S102 - of our own tables only
    read: StraightReader = names["read"]
    return read


def _long_uvarint(data: bytes, at: int) -> tuple[int, int]:
    """A varint of more than one byte, whose first one stands before ``at``: its value, and where it ends."""
    value = data[at - 1] & 0x7F
    for place in range(1, UVARINT_BYTES_MAX):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:  # noqa: PLR2004 - the top bit says that another byte follows
            return value, at
    raise _NotPlainError


class _Source:
    """Lines of one function, and the names that they use."""

    def __init__(self, version: int, flexible: bool) -> None:
        self._version = version
        self._flexible = flexible
        self._lines: list[str] = []
        self._depth = 0
        self._count = 0
        self.names: dict[str, Any] = {
            "NotPlain": _NotPlainError,
            "long_uvarint": _long_uvarint,
            "unpack": struct.unpack_from,
            "uuid_text": uuid_text,
        }

    def text(self) -> str:
        return "\n".join(self._lines)

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self) -> Iterator[None]:
        self._depth += 1
        yield
        self._depth -= 1

    def struct(self, fields: Sequence[Field]) -> str:
        """Read ``fields`` one after the other; the expression of their dict."""
        present = [field for field in fields if field.since <= self._version <= field.until]
        values = [(field.name, self._field(field)) for field in present if field.tag is None]
        if self._flexible:
            # One byte 0: no tagged field was sent, so those of this version have their defaults.
            self._unless("data[at] == 0")
            self.line("at += 1")
            values += [(field.name, self._name(field.default)) for field in present if field.tag is not None]
        return "{" + ", ".join(f"{name!r}: {value}" for name, value in values) + "}"

    def _field(self, field: Field) -> str:
        nullable = field.nullable_since is not None and self._version >= field.nullable_since
        if not field.may_end_before:
            return self._value(field.type, nullable)
        found = self._new()
        self.line(f"{found} = {self._name(field.default)}")
        self.line("if at < size:")
        with self.block():
            self.line(f"{found} = {self._value(field.type, nullable)}")
        return found

    def _value(self, kind: Type, nullable: bool) -> str:
        """Read one value; the expression that gives it, to be used once."""
        if isinstance(kind, Number):
            return self._number(kind.code)
        if kind is UUID:
            return f"uuid_text({self._bytes(UUID_BYTES)})"
        if kind in (STRING, BYTES):
            return self._sized("h" if kind is STRING else "i", ".decode()" if kind is STRING else "", nullable)
        if isinstance(kind, Array):
            return self._array(kind.of, nullable)
        return self._struct_value(kind, nullable)

    def _struct_value(self, kind: Any, nullable: bool) -> str:  # noqa: ANN401 - a `schema.Struct`
        found = self._new()
        if nullable:
            self.line(f"{found} = None")
            self.line(f"if {self._number('b')} >= 0:")
            with self.block():
                self.line(f"{found} = {self.struct(kind.fields)}")
        else:
            self.line(f"{found} = {self.struct(kind.fields)}")
        return found

    def _number(self, code: str) -> str:
        found, form = self._new(), struct.Struct(f">{code}")
        self.line(f"({found},) = {self._name(form.unpack_from)}(data, at)")
        self.line(f"at += {form.size}")
        return found

    def _length(self, code: str) -> str:
        """The length before text, bytes or an array; below 0 for null."""
        if not self._flexible:
            return self._number(code)
        found = self._new()
        self.line(f"{found} = data[at]")
        self.line("at += 1")
        self.line(f"if {found} > 127:")
        with self.block():
            self.line(f"{found}, at = long_uvarint(data, at)")
        self.line(f"{found} -= 1")
        return found

    def _bytes(self, length: int | str) -> str:
        found = self._new()
        self.line(f"{found} = data[at : at + {length}]")
        self.line(f"at += {length}")
        self._unless("at <= size")
        return found

    def _sized(self, code: str, suffix: str, nullable: bool) -> str:
        length, found = self._length(code), self._new()
        self._null(found, length, nullable)
        with self.block():
            self.line(f"{found} = {self._bytes(length)}{suffix}")
        return found

    def _array(self, of: Type, nullable: bool) -> str:
        length, found = self._length("i"), self._new()
        self._null(found, length, nullable)
        with self.block():
            if isinstance(of, Number):
                width = struct.calcsize(f">{of.code}")
                self._unless(f"{length} * {width} <= size - at")
                self.line(f"{found} = unpack(f'>{{{length}}}{of.code}', data, at)")
                self.line(f"at += {length} * {width}")
            else:
                # Each item takes at least one byte: a claimed count cannot outlast the bytes.
                self.line(f"{found} = []")
                self.line(f"for _ in range({length}):")
                with self.block():
                    self.line(f"{found}.append({self._value(of, nullable=False)})")
        return found

    def _null(self, found: str, length: str, nullable: bool) -> None:
        """Null for a length below 0 where that may be; the block that follows is for all others."""
        if nullable:
            self.line(f"{found} = None")
        else:
            self._unless(f"{length} >= 0")
        self.line(f"if {length} >= 0:")

    def _unless(self, condition: str) -> None:
        self.line(f"if not ({condition}): raise NotPlain")

    def _new(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _name(self, value: object) -> str:
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name
