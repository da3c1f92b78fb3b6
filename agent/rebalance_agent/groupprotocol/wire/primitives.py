"""Field types: numbers, text, bytes, UUIDs and arrays, in classic and in flexible versions.

These are the types that Kafka's group coordinator and consumers use; add others at the end of the file.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Protocol

from rebalance_agent.groupprotocol.wire.byte_reader import Reader, WireError, as_text, write_uvarint

__all__ = [
    "BYTES",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "STRING",
    "UINT16",
    "UUID",
    "UUID_BYTES",
    "ZERO_UUID",
    "Array",
    "Codec",
    "Form",
    "Number",
    "Type",
    "uuid_text",
]

ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
"""Kafka's ``Uuid.ZERO_UUID``: no topic id."""

UUID_BYTES = 16


@dataclass(frozen=True, slots=True)
class Form:
    """The context of a field in one version, on which its encoding depends."""

    version: int
    flexible: bool
    nullable: bool = False
    tagged: bool = False


@dataclass(frozen=True, slots=True)
class Codec:
    """Reader and writer of a type in one `Form`. ``size_min``: the fewest bytes that a value takes."""

    read: Callable[[Reader], Any]
    write: Callable[[bytearray, Any], None]
    size_min: int


class Type(Protocol):
    """A type that a `Field` can have."""

    def codec(self, form: Form) -> Codec:
        """Return the reader and the writer for ``form``."""
        ...


class Number:
    """A number of fixed width; ``code`` is its format character in Python's ``struct``."""

    def __init__(self, code: str) -> None:
        """Create the type for the ``struct`` format ``code``."""
        self.code = code
        self._struct = struct.Struct(f">{code}")

    def codec(self, form: Form) -> Codec:  # noqa: ARG002 - a number looks the same everywhere
        """Return the reader and the writer, which are the same for every form."""
        number = self._struct
        return Codec(
            lambda reader: reader.number(number), lambda out, value: out.extend(number.pack(value)), number.size
        )


class _Uuid:
    def codec(self, form: Form) -> Codec:  # noqa: ARG002 - a UUID looks the same everywhere
        return Codec(_read_uuid, _write_uuid, UUID_BYTES)


class _Bytes:
    def codec(self, form: Form) -> Codec:
        prefix, nullable = _prefix("i", form), form.nullable

        def write(out: bytearray, content: bytes | None) -> None:
            _write_length(out, prefix, content, nullable)
            out += content or b""

        return Codec(lambda reader: reader.sized(prefix, nullable), write, prefix.size if prefix else 1)


class _String:
    def codec(self, form: Form) -> Codec:
        prefix, nullable = _prefix("h", form), form.nullable

        def read(reader: Reader) -> str | None:
            content = reader.sized(prefix, nullable)
            return None if content is None else as_text(content, reader.at)

        def write(out: bytearray, text: str | None) -> None:
            content = None if text is None else text.encode()
            _write_length(out, prefix, content, nullable)
            out += content or b""

        return Codec(read, write, prefix.size if prefix else 1)


class Array:
    """A list of values of one type (numbers: a tuple), or None."""

    def __init__(self, of: Type) -> None:
        """Create an array of ``of``, whose values may not be null."""
        self.of = of

    def codec(self, form: Form) -> Codec:
        """Return the reader and the writer for ``form``."""
        prefix, nullable = _prefix("i", form), form.nullable
        item = self.of.codec(Form(form.version, form.flexible))
        if not item.size_min:
            raise TypeError("an array of items without bytes could claim any number of them")
        read_items = _many_numbers(self.of.code) if isinstance(self.of, Number) else _many(item.read)

        def read(reader: Reader) -> Sequence[Any] | None:
            count = reader.count(prefix, item.size_min, nullable)
            return None if count is None else read_items(reader, count)

        def write(out: bytearray, values: Sequence[Any] | None) -> None:
            _write_length(out, prefix, values, nullable)
            for value in values or ():
                item.write(out, value)

        return Codec(read, write, prefix.size if prefix else 1)


def _many(read_item: Callable[[Reader], Any]) -> Callable[[Reader, int], list[Any]]:
    def read(reader: Reader, count: int) -> list[Any]:
        items: list[Any] = []
        try:
            for _ in range(count):
                items.append(read_item(reader))  # noqa: PERF401 - the error needs to know how far we came
        except WireError as error:
            error.path.append(f"[{len(items)}]")
            raise
        return items

    return read


def _many_numbers(code: str) -> Callable[[Reader, int], tuple[int, ...]]:
    return lambda reader, count: reader.numbers(code, count)


def _prefix(code: str, form: Form) -> struct.Struct | None:
    """Return the format of a length: a fixed-width number, or None for the varint of flexible versions."""
    return None if form.flexible else struct.Struct(f">{code}")


def _write_length(out: bytearray, prefix: struct.Struct | None, content: Sized | None, nullable: bool) -> None:
    if content is None and not nullable:
        raise ValueError("may not be null")
    length = -1 if content is None else len(content)
    if prefix is None:
        write_uvarint(out, length + 1)
    else:
        out += prefix.pack(length)


def uuid_text(content: bytes) -> str:
    """Return a UUID's 16 bytes as Kafka prints them: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _read_uuid(reader: Reader) -> str:
    return uuid_text(reader.take(UUID_BYTES))


def _write_uuid(out: bytearray, value: str) -> None:
    try:
        content = base64.b64decode(f"{value}==", altchars=b"-_", validate=True)
    except binascii.Error:
        content = b""
    if len(content) != UUID_BYTES:
        raise ValueError(f"{value[:40]!r} is not a UUID as Kafka prints them")
    out += content


INT8 = Number("b")
INT16 = Number("h")
UINT16 = Number("H")
INT32 = Number("i")
INT64 = Number("q")
UUID = _Uuid()
STRING = _String()
BYTES = _Bytes()
