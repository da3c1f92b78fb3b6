"""Adds attributes to the resources of pushed metrics, as a metrics receiver on a broker would (KIP-714).

Protobuf merges several occurrences of the same message field, so the attributes can be appended without parsing.
"""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.gateway.telemetry.otlp_reader import resource_metrics

__all__ = ["labelled_metrics"]

_RESOURCE_METRICS, _RESOURCE, _ATTRIBUTE, _KEY, _VALUE, _STRING = (number << 3 | 2 for number in (1, 1, 1, 1, 2, 1))
"""Keys of length-delimited fields; the field numbers are from opentelemetry-proto 1.x."""

_MORE_BYTES = 0x80


def labelled_metrics(data: bytes, attributes: Mapping[str, str]) -> bytes:
    """Return the ``MetricsData`` with the text ``attributes`` added to each resource.

    Raises:
        PushError: the bytes are not a ``MetricsData``.
    """
    added = _field(
        _RESOURCE,
        b"".join(
            _field(_ATTRIBUTE, _field(_KEY, name.encode()) + _field(_VALUE, _field(_STRING, text.encode())))
            for name, text in attributes.items()
        ),
    )
    return b"".join(_field(_RESOURCE_METRICS, data[start:end] + added) for start, end in resource_metrics(data))


def _field(key: int, content: bytes) -> bytes:
    return bytes((key,)) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number >= _MORE_BYTES:
        parts.append(number & (_MORE_BYTES - 1) | _MORE_BYTES)
        number >>= 7
    parts.append(number)
    return bytes(parts)
