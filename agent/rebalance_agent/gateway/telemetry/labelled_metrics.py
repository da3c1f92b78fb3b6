"""Adds attributes to the resources of pushed metrics, as a metrics receiver on a broker would (KIP-714).

Protobuf merges several occurrences of the same message field, so the attributes can be appended without parsing.
"""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.gateway.telemetry.otlp_reader import resource_metrics
from rebalance_agent.gateway.telemetry.push_error import PushError, PushOutcome

__all__ = ["LABELLED_BYTES_MAX", "labelled_metrics"]

LABELLED_BYTES_MAX = 1024 * 1024
"""Largest push (bytes) with the added attributes. Java repeats the resource before each metric, and the attributes are
added each time: 150 bytes for usual names, 1 KiB for the longest. A push of 500 metrics fits even with these."""

_RESOURCE_METRICS, _RESOURCE, _ATTRIBUTE, _KEY, _VALUE, _STRING = (number << 3 | 2 for number in (1, 1, 1, 1, 2, 1))
"""Keys of length-delimited fields; the field numbers are from opentelemetry-proto 1.x."""

_MORE_BYTES = 0x80


def labelled_metrics(data: bytes, attributes: Mapping[str, str]) -> bytes:
    """Return the ``MetricsData`` with the text ``attributes`` added to each resource.

    Raises:
        PushError: the bytes are not a ``MetricsData``, or the result has more than `LABELLED_BYTES_MAX` bytes.
    """
    added = _field(
        _RESOURCE,
        b"".join(
            _field(_ATTRIBUTE, _field(_KEY, name.encode()) + _field(_VALUE, _field(_STRING, text.encode())))
            for name, text in attributes.items()
        ),
    )
    parts, left = [], LABELLED_BYTES_MAX
    for start, end in resource_metrics(data):
        parts.append(_field(_RESOURCE_METRICS, data[start:end] + added))
        left -= len(parts[-1])
        if left < 0:
            text = f"it has more than {LABELLED_BYTES_MAX} bytes with the attributes of its client"
            raise PushError(PushOutcome.TOO_LARGE, text)
    return b"".join(parts)


def _field(key: int, content: bytes) -> bytes:
    return bytes((key,)) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number >= _MORE_BYTES:
        parts.append(number & (_MORE_BYTES - 1) | _MORE_BYTES)
        number >>= 7
    parts.append(number)
    return bytes(parts)
