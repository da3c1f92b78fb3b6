"""A schema language for Kafka messages, and the reader and writer that follow it.

A `Field` has a name, a type, the versions that contain it, the first version in which it may be null, and a tag if it
is a tagged field (KIP-482). `message.Message` adds the version number. Schemas are compiled once per version, at
import, to plain functions. A decoded struct is a dict of exactly the fields of its version; a tagged field that was not
sent has its default. UUIDs are text as Kafka prints them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.groupprotocol.wire.byte_reader import Reader, WireError, write_uvarint
from rebalance_agent.groupprotocol.wire.primitives import Codec, Form, Type

__all__ = ["Field", "Struct", "struct_codec"]

_REQUIRED: Any = object()
_INT16_MAX = 32_767


@dataclass(frozen=True, slots=True)
class Field:
    """One field under Kafka's name in snake case, present from version ``since`` to ``until``.

    ``nullable_since``: first version in which it may be null. ``tag``: its number if it is a tagged field.
    ``may_end_before``: a message may end before this field. ``default``: the field's value if the message lacks the
    field although its version has it, or if an encoder gets no value.
    """

    name: str
    type: Type
    since: int = 0
    until: int = _INT16_MAX
    nullable_since: int | None = None
    tag: int | None = None
    may_end_before: bool = False
    default: Any = _REQUIRED

    def __post_init__(self) -> None:
        """Refuse a tagged field without a default: a message may lack it (TypeError)."""
        if self.tag is not None and self.default is _REQUIRED:
            raise TypeError(f"{self.name} has a tag and needs a default")

    def codec(self, version: int, flexible: bool) -> Codec:
        """Return the reader and the writer of this field in ``version``."""
        nullable = self.nullable_since is not None and version >= self.nullable_since
        codec = self.type.codec(Form(version, flexible, nullable, self.tag is not None))
        if not self.may_end_before:
            return codec
        read, default = codec.read, self.default
        return Codec(lambda reader: read(reader) if reader.left else default, codec.write, 0)


class Struct:
    """A sequence of fields; in flexible versions, tagged fields follow."""

    def __init__(self, *fields: Field) -> None:
        """Create a struct of ``fields`` in Kafka's order."""
        self.fields = fields

    def codec(self, form: Form) -> Codec:
        """Return the reader and the writer for ``form``; the value is a dict, or None."""
        body = struct_codec(self.fields, form.version, form.flexible)
        return _nullable(body, form.tagged) if form.nullable else body


def struct_codec(fields: tuple[Field, ...], version: int, flexible: bool) -> Codec:
    """Return the reader and the writer of the ``fields`` that ``version`` has."""
    present = [field for field in fields if field.since <= version <= field.until]
    plain = tuple((field, field.codec(version, flexible)) for field in present if field.tag is None)
    tags = sorted((field.tag, field) for field in present if field.tag is not None)
    tagged = {tag: (field, field.codec(version, flexible)) for tag, field in tags}
    if tagged and not flexible:
        raise TypeError(f"{next(iter(tagged.values()))[0].name} is tagged in version {version}, which has no tags")
    readers = tuple((field.name, codec.read) for field, codec in plain)
    tag_defaults = {field.name: field.default for field, _ in tagged.values()}
    tag_readers = {tag: (field.name, codec.read) for tag, (field, codec) in tagged.items()}

    def read(reader: Reader) -> dict[str, Any]:
        values: dict[str, Any] = {}
        name = ""
        try:
            for name, read_field in readers:
                values[name] = read_field(reader)
        except WireError as error:
            error.path.append(name)
            raise
        if flexible:
            values.update(tag_defaults)
            _read_tags(reader, tag_readers, values)
        return values

    def write(out: bytearray, values: Mapping[str, Any]) -> None:
        for field, codec in plain:
            _write_field(out, field, codec, values)
        if flexible:
            _write_tags(out, tagged, values)

    return Codec(read, write, sum(codec.size_min for _, codec in plain) + flexible)


def _read_tags(
    reader: Reader, readers: Mapping[int, tuple[str, Callable[[Reader], Any]]], values: dict[str, Any]
) -> None:
    for _ in range(reader.uvarint()):
        tag, size = reader.uvarint(), reader.uvarint()
        start = reader.at
        content = Reader(reader.take(size))
        if tag not in readers:
            reader.unknown_tags += 1
            continue
        name, read = readers[tag]
        try:
            values[name] = read(content)
            content.end()
        except WireError as error:
            error.at += start
            error.path.append(name)
            raise
        reader.unknown_tags += content.unknown_tags


def _write_field(out: bytearray, field: Field, codec: Codec, values: Mapping[str, Any]) -> None:
    value = values.get(field.name, field.default)
    if value is _REQUIRED:
        raise InvalidInputError(field.name, "is missing")
    try:
        codec.write(out, value)
    except InvalidInputError as error:
        inner = f"{field.name}.{error.field}" if error.field else field.name
        raise InvalidInputError(inner, error.problem) from None
    except (AttributeError, TypeError, ValueError, struct.error) as error:
        raise InvalidInputError(field.name, str(error)) from error


def _write_tags(out: bytearray, tagged: Mapping[int, tuple[Field, Codec]], values: Mapping[str, Any]) -> None:
    """Write the tagged fields in order of their tags, without fields that have their default."""
    sent = []
    for tag, (field, codec) in tagged.items():
        content, default = bytearray(), bytearray()
        _write_field(content, field, codec, values)
        _write_field(default, field, codec, {})
        if content != default:
            sent.append((tag, content))
    write_uvarint(out, len(sent))
    for tag, content in sent:
        write_uvarint(out, tag)
        write_uvarint(out, len(content))
        out += content


def _nullable(body: Codec, tagged: bool) -> Codec:
    """Return the codec of a struct that may be null.

    The struct follows a varint in a tagged field (0: null), and an int8 elsewhere (below 0: null).
    """
    marker = struct.Struct(">b")

    def read(reader: Reader) -> Any:  # noqa: ANN401
        absent = reader.uvarint() == 0 if tagged else reader.number(marker) < 0
        return None if absent else body.read(reader)

    def write(out: bytearray, value: Any) -> None:  # noqa: ANN401
        out += marker.pack(1 if value is not None else 0 if tagged else -1)
        if value is not None:
            body.write(out, value)

    return Codec(read, write, marker.size)
