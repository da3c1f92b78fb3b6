"""A whole message: an int16 version, then the fields of this version."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rebalance_agent.errors import DecodeError, InvalidInputError
from rebalance_agent.groupprotocol.wire.byte_reader import Reader, WireError
from rebalance_agent.groupprotocol.wire.compiled_reader import FALLBACK_ERRORS, CompiledReader, compile_reader
from rebalance_agent.groupprotocol.wire.schema import Field, struct_codec

__all__ = ["Decoded", "Message"]

_VERSION = struct.Struct(">h")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded message. ``fields`` is None for an unknown version; ``unknown_tags`` counts tagged fields skipped."""

    version: int
    fields: dict[str, Any] | None
    unknown_tags: int = 0


class Message:
    """The schema of one Kafka message in all its ``versions``."""

    def __init__(
        self,
        name: str,
        *fields: Field,
        versions: range,
        flexible_since: int | None = None,
        append_only: bool = False,
    ) -> None:
        """Describe the message that Kafka calls ``name``.

        ``flexible_since``: first version with compact lengths and tagged fields (KIP-482). ``append_only``: newer
        versions only append fields, so that an unknown version is read as the newest known one.
        """
        self.name = name
        self.fields = fields
        self.versions = versions
        self._append_only = append_only
        self._flexible_since = flexible_since
        self._codecs = {version: struct_codec(fields, version, self._flexible(version)) for version in versions}
        # Compiled at first use: most processes read few of the messages.
        self._compiled: dict[int, CompiledReader] = {}

    def decode(self, data: bytes) -> Decoded:
        """Decode a whole message; bytes after its last field are ignored, as Kafka does.

        Raises:
            DecodeError: the bytes break the schema; names message, field and byte.
        """
        try:
            return self._decode_compiled(data)
        except FALLBACK_ERRORS:
            return self._decode_by_table(data)

    def _decode_compiled(self, data: bytes) -> Decoded:
        (version,) = _VERSION.unpack_from(data)
        schema_version = min(version, self.versions[-1]) if self._append_only else version
        read = self._compiled.get(schema_version)
        if read is None:
            if schema_version not in self._codecs:
                return self._decode_by_table(data)
            read = self._compiled[schema_version] = compile_reader(
                self.fields, schema_version, flexible=self._flexible(schema_version)
            )
        return Decoded(version, read(data, _VERSION.size))

    def _decode_by_table(self, data: bytes) -> Decoded:
        reader = Reader(data)
        version: int | None = None
        try:
            version = reader.number(_VERSION)
            codec = self._codecs.get(min(version, self.versions[-1]) if self._append_only else version)
            if codec is None and self._append_only:
                raise WireError(f"there is no version {version}", 0)  # noqa: TRY301 - reported like other problems
            return Decoded(version, codec.read(reader) if codec else None, reader.unknown_tags)
        except WireError as error:
            where = self.name if version is None else f"{self.name} v{version}"
            raise DecodeError(error.describe(where)) from None

    def _flexible(self, version: int) -> bool:
        return self._flexible_since is not None and version >= self._flexible_since

    def encode(self, version: int, fields: Mapping[str, Any]) -> bytes:
        """Encode the message in ``version``; fields that this version does not have are left out.

        Raises:
            InvalidInputError: a field is missing, of the wrong type or too long; or the version is unknown.
        """
        codec = self._codecs.get(version)
        if codec is None:
            supported = f"{self.versions[0]} to {self.versions[-1]}"
            raise InvalidInputError("version", f"{self.name} has versions {supported}, not {version}")
        out = bytearray(_VERSION.pack(version))
        codec.write(out, fields)
        return bytes(out)
