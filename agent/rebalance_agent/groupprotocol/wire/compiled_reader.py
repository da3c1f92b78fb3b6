"""Compiles a schema to one reader function, whose source is generated from the fields, as for dataclasses.

This function reads complete messages without tagged fields, which are nearly all, several times as fast as the readers
of ``schema``. For other bytes it raises one of `FALLBACK_ERRORS`, and the caller reads them again with ``schema``,
which reports the error and its offset.
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

__all__ = ["FALLBACK_ERRORS", "CompiledReader", "compile_reader"]

CompiledReader = Callable[[bytes, int], dict[str, Any]]
"""Bytes and offset of the first field -> values of the fields; bytes after the last field are ignored."""


class _NotPlainError(Exception):
    """The compiled reader does not read this message."""


FALLBACK_ERRORS = (_NotPlainError, IndexError, UnicodeDecodeError, struct.error)
"""Errors of a `CompiledReader` for bytes that are incomplete, or contain values that it does not read."""


def compile_reader(fields: Sequence[Field], version: int, *, flexible: bool) -> CompiledReader:
    """Return the compiled reader of ``fields`` in ``version``."""
    source = _Source(version, flexible)
    source.line("def read(data, at):")
    with source.block():
        source.line("size = len(data)")
        source.line(f"return {source.struct(fields)}")
    names = dict(source.names)
    exec(compile(source.text(), f"<straight reader v{version}>", "exec"), names)  # noqa: S102 - of our own tables only
    read: CompiledReader = names["read"]
    return read


def _long_uvarint(data: bytes, at: int) -> tuple[int, int]:
    """Return the value of a varint of several bytes, the first of which is before ``at``, and the offset after it."""
    value = data[at - 1] & 0x7F
    for index in range(1, UVARINT_BYTES_MAX):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:  # noqa: PLR2004 - the top bit means that another byte follows
            return value, at
    raise _NotPlainError


class _Source:
    """The lines of the generated function, and the names that they use."""

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
        """Generate the reading of ``fields``; returns the expression of their dict."""
        present = [field for field in fields if field.since <= self._version <= field.until]
        values = [(field.name, self._field(field)) for field in present if field.tag is None]
        if self._flexible:
            # One byte 0 means that no tagged field was sent: those of this version have their defaults.
            self._unless("data[at] == 0")
            self.line("at += 1")
            values += [(field.name, self._name(field.default)) for field in present if field.tag is not None]
        return "{" + ", ".join(f"{name!r}: {value}" for name, value in values) + "}"

    def _field(self, field: Field) -> str:
        nullable = field.nullable_since is not None and self._version >= field.nullable_since
        if not field.may_end_before:
            return self._value(field.type, nullable)
        name = self._new()
        self.line(f"{name} = {self._name(field.default)}")
        self.line("if at < size:")
        with self.block():
            self.line(f"{name} = {self._value(field.type, nullable)}")
        return name

    def _value(self, kind: Type, nullable: bool) -> str:
        """Generate the code that reads one value; return its expression, which must be used once."""
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
        name = self._new()
        if nullable:
            self.line(f"{name} = None")
            self.line(f"if {self._number('b')} >= 0:")
            with self.block():
                self.line(f"{name} = {self.struct(kind.fields)}")
        else:
            self.line(f"{name} = {self.struct(kind.fields)}")
        return name

    def _number(self, code: str) -> str:
        name, form = self._new(), struct.Struct(f">{code}")
        self.line(f"({name},) = {self._name(form.unpack_from)}(data, at)")
        self.line(f"at += {form.size}")
        return name

    def _length(self, code: str) -> str:
        """Generate the reading of the length before text, bytes or an array; below 0 for null."""
        if not self._flexible:
            return self._number(code)
        name = self._new()
        self.line(f"{name} = data[at]")
        self.line("at += 1")
        self.line(f"if {name} > 127:")
        with self.block():
            self.line(f"{name}, at = long_uvarint(data, at)")
        self.line(f"{name} -= 1")
        return name

    def _bytes(self, length: int | str) -> str:
        name = self._new()
        self.line(f"{name} = data[at : at + {length}]")
        self.line(f"at += {length}")
        self._unless("at <= size")
        return name

    def _sized(self, code: str, suffix: str, nullable: bool) -> str:
        length, name = self._length(code), self._new()
        self._null(name, length, nullable)
        with self.block():
            self.line(f"{name} = {self._bytes(length)}{suffix}")
        return name

    def _array(self, of: Type, nullable: bool) -> str:
        length, name = self._length("i"), self._new()
        self._null(name, length, nullable)
        with self.block():
            if isinstance(of, Number):
                width = struct.calcsize(f">{of.code}")
                self._unless(f"{length} * {width} <= size - at")
                self.line(f"{name} = unpack(f'>{{{length}}}{of.code}', data, at)")
                self.line(f"at += {length} * {width}")
            else:
                # Each item takes at least one byte, so a false count fails at the end of the bytes.
                self.line(f"{name} = []")
                self.line(f"for _ in range({length}):")
                with self.block():
                    self.line(f"{name}.append({self._value(of, nullable=False)})")
        return name

    def _null(self, name: str, length: str, nullable: bool) -> None:
        """Generate null for a length below 0 where that is allowed; the block that follows is for other lengths."""
        if nullable:
            self.line(f"{name} = None")
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
