"""Encodes and decodes the requests and responses of one API whose versions are all flexible (KIP-482)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rebalance_agent.groupprotocol.wire.byte_reader import decode_whole
from rebalance_agent.groupprotocol.wire.frames import read_request, read_response, request_frame, response_frame
from rebalance_agent.groupprotocol.wire.schema import Field, struct_codec

__all__ = ["FlexibleApi"]


class FlexibleApi:
    """An API by its ``key``, with Kafka's ``name`` for it and the ``versions`` that are known here.

    A frame is whole, without its length. ``request`` and ``answer``: the fields of both messages, with the versions
    that have them.
    """

    def __init__(
        self, key: int, name: str, versions: range, request: tuple[Field, ...], answer: tuple[Field, ...]
    ) -> None:
        """Compile the schemas of all ``versions``."""
        self.key, self.name, self.versions = key, name, versions
        self.request, self.answer = request, answer
        self._requests = {version: struct_codec(request, version, flexible=True) for version in versions}
        self._answers = {version: struct_codec(answer, version, flexible=True) for version in versions}

    def encode_request(self, version: int, correlation_id: int, client_id: str, fields: Mapping[str, Any]) -> bytes:
        """Encode a request; ``fields`` as `decode_request` returns them.

        Raises:
            InvalidInputError: a field is missing, of the wrong type or too long.
        """
        return request_frame(self.key, version, correlation_id, client_id, self._requests[version], fields)

    def decode_request(self, version: int, frame: bytes) -> dict[str, Any]:
        """Decode a request, header included.

        Raises:
            DecodeError: the bytes do not follow the schema.
        """
        what = f"{self.name}Request v{version}"
        return decode_whole(what, frame, lambda reader: read_request(reader, self._requests[version]))

    def encode_answer(self, version: int, correlation_id: int, fields: Mapping[str, Any]) -> bytes:
        """Encode the response to a request of ``version``; ``fields`` as `decode_answer` returns them.

        Raises:
            InvalidInputError: a field is missing, of the wrong type or too long.
        """
        return response_frame(correlation_id, self._answers[version], fields)

    def decode_answer(self, version: int, frame: bytes) -> dict[str, Any]:
        """Decode the response to a request of ``version``, header included.

        Raises:
            DecodeError: the bytes do not follow the schema.
        """
        what = f"{self.name}Response v{version}"
        return decode_whole(what, frame, lambda reader: read_response(reader, self._answers[version]))
