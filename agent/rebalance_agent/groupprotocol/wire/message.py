"""A whole message: its version in two bytes, then the fields that this version has."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rebalance_agent.errors import DecodeError, InvalidInputError
from rebalance_agent.groupprotocol.wire.byte_reader import Reader, WireError
from rebalance_agent.groupprotocol.wire.compiled_reader import GIVEN_UP, StraightReader, straight_reader
from rebalance_agent.groupprotocol.wire.schema import Field, struct_codec

__all__ = ["Decoded", "Message"]

_VERSION = struct.Struct(">h")


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a message says. ``fields`` is None where no table knows the version; ``unknown_tags`` were skipped."""

    version: int
    fields: dict[str, Any] | None
    unknown_tags: int = 0


class Message:
    """The table of one Kafka message in all its ``versions``."""

    def __init__(
        self,
        name: str,
        *fields: Field,
        versions: range,
        flexible_since: int | None = None,
        append_only: bool = False,
    ) -> None:
        """Describe the message that Kafka calls ``name``.

        ``flexible_since``: first version with compact lengths and tagged fields. ``append_only``: newer versions only
        ever add fields at the end, so that an unknown version reads as the newest known one.
        """
        self.name = name
        self.fields = fields
        self.versions = versions
        self._append_only = append_only
        self._flexible_since = flexible_since
        self._codecs = {version: struct_codec(fields, version, self._flexible(version)) for version in versions}
        # Written at first use: a process that reads two messages need not pay for the readers of all.
        self._straight: dict[int, StraightReader] = {}

    def decode(self, data: bytes) -> Decoded:
        """Read a whole message; bytes after its last field are ignored, as Kafka ignores them.

        Raises:
            DecodeError: naming the message, the field and the byte.
        """
        try:
            return self._decode_straight(data)
        except GIVEN_UP:
            return self._decode_by_table(data)

    def _decode_straight(self, data: bytes) -> Decoded:
        (version,) = _VERSION.unpack_from(data)
        known = min(version, self.versions[-1]) if self._append_only else version
        read = self._straight.get(known)
        if read is None:
            if known not in self._codecs:
                return self._decode_by_table(data)
            read = self._straight[known] = straight_reader(self.fields, known, flexible=self._flexible(known))
        return Decoded(version, read(data, _VERSION.size))

    def _decode_by_table(self, data: bytes) -> Decoded:
        reader = Reader(data)
        version: int | None = None
        try:
            version = reader.number(_VERSION)
            codec = self._codecs.get(min(version, self.versions[-1]) if self._append_only else version)
            if codec is None and self._append_only:
                raise WireError(f"there is no version {version}", 0)  # noqa: TRY301 - told like every other problem
            return Decoded(version, codec.read(reader) if codec else None, reader.unknown_tags)
        except WireError as error:
            where = self.name if version is None else f"{self.name} v{version}"
            raise DecodeError(error.describe(where)) from None

    def _flexible(self, version: int) -> bool:
        return self._flexible_since is not None and version >= self._flexible_since

    def encode(self, version: int, fields: Mapping[str, Any]) -> bytes:
        """Write the message in ``version``; fields that this version does not have are left out.

        Raises:
            InvalidInputError: a field is missing, of the wrong type or too long; or there is no such version.
        """
        codec = self._codecs.get(version)
        if codec is None:
            known = f"{self.versions[0]} to {self.versions[-1]}"
            raise InvalidInputError("version", f"{self.name} has versions {known}, not {version}")
        out = bytearray(_VERSION.pack(version))
        codec.write(out, fields)
        return bytes(out)
