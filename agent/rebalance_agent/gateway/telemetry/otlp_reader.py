"""Reads the values of wanted metrics, and wanted attributes of the resource, from OTLP's ``MetricsData``.

Sources: opentelemetry-proto 1.x for the field numbers (``metrics.proto``, ``resource.proto``, ``common.proto``), and
protobuf's description of its encoding. The size of the result is limited, since only wanted names are kept. The work is
limited by the number of fields. Unwanted metrics are skipped without reading them.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from rebalance_agent.gateway.telemetry.push_error import PushError, PushOutcome

__all__ = ["ATTRIBUTE_BYTES_MAX", "FIELDS_MAX", "PushedMetrics", "read_metrics", "resource_metrics"]

FIELDS_MAX = 10_000
"""Maximum number of fields that are read from one message: this takes 15 ms, while all other connections wait. A Java
consumer pushes a few hundred fields, librdkafka fewer."""

ATTRIBUTE_BYTES_MAX = 32_767
"""Longest accepted attribute (bytes): Kafka's requests cannot contain a longer name of a group."""

_VARINT_BYTES_MAX = 10
_MORE_BYTES = 0x80
"""The bit of a varint's byte that is set if another byte follows."""
_KIND_BITS, _NUMBER, _SIZED = 0x07, 0, 2
_FIXED_BYTES = {1: 8, 5: 4}


def _sized(number: int) -> int:
    """Return the key of a length-delimited field: a message, string or bytes."""
    return number << 3 | _SIZED


_RESOURCE_METRICS = _sized(1)
_RESOURCE, _SCOPE_METRICS = _sized(1), _sized(2)
_RESOURCE_ATTRIBUTE = _sized(1)
_ATTRIBUTE_KEY, _ATTRIBUTE_VALUE, _STRING_VALUE = _sized(1), _sized(2), _sized(1)
_METRIC = _sized(2)
_METRIC_NAME, _GAUGE, _SUM = _sized(1), _sized(5), _sized(7)
_POINT = _sized(1)
_AS_DOUBLE, _AS_INT = 4 << 3 | 1, 6 << 3 | 1
_NUMBERS = {_AS_DOUBLE: struct.Struct("<d"), _AS_INT: struct.Struct("<q")}


@dataclass(frozen=True, slots=True)
class PushedMetrics:
    """Wanted metrics by name, and wanted attributes of the resource. The last of several values of a name counts."""

    values: dict[str, float] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)


def read_metrics(data: bytes, metrics: Collection[str], attributes: Collection[str]) -> PushedMetrics:
    """Return the wanted ``metrics`` and ``attributes`` of a ``MetricsData``; leave out values that are not finite.

    Raises:
        PushError: the bytes are not a ``MetricsData``, or have too many fields.
    """
    pushed = PushedMetrics()
    reader = _MetricsReader(data, {name.encode(): name for name in metrics}, attributes, pushed)
    reader.read()
    return pushed


def resource_metrics(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the byte offsets of the start and the end (exclusive) of each ``ResourceMetrics`` in a ``MetricsData``.

    Raises:
        PushError: the bytes are not a ``MetricsData``.
    """
    return _MetricsReader(data, {}, (), PushedMetrics()).resources()


class _MetricsReader:
    def __init__(
        self, data: bytes, metrics: dict[bytes, str], attributes: Collection[str], pushed: PushedMetrics
    ) -> None:
        self._data, self._metrics, self._attributes, self._found = data, metrics, attributes, pushed
        self._left = FIELDS_MAX
        self._resource_read = b""

    def resources(self) -> Iterator[tuple[int, int]]:
        return self._parts(0, len(self._data), _RESOURCE_METRICS)

    def read(self) -> None:
        for resource in self.resources():
            for key, start, end in self._fields(*resource):
                if key == _RESOURCE:
                    self._resource(start, end)
                elif key == _SCOPE_METRICS:
                    for metric in self._parts(start, end, _METRIC):
                        self._metric(*metric)

    def _resource(self, at: int, end: int) -> None:
        content = self._data[at:end]
        if content == self._resource_read:
            return  # Java repeats the resource before each metric
        self._resource_read = content
        for attribute in self._parts(at, end, _RESOURCE_ATTRIBUTE):
            name, value = "", None
            for key, start, stop in self._fields(*attribute):
                if key == _ATTRIBUTE_KEY:
                    name = self._text(start, stop)
                elif key == _ATTRIBUTE_VALUE:
                    for text in self._parts(start, stop, _STRING_VALUE):
                        value = text
            if name in self._attributes and value is not None:
                self._found.attributes[name] = self._text(*value)

    def _metric(self, at: int, end: int) -> None:
        name, points = None, []
        for key, start, stop in self._fields(at, end):
            if key == _METRIC_NAME:
                name = self._metrics.get(self._data[start:stop])
                if name is None:
                    return
            elif key in (_GAUGE, _SUM):
                points.append((start, stop))
        if name is not None:
            for point in points:
                self._points(name, *point)

    def _points(self, name: str, at: int, end: int) -> None:
        for point in self._parts(at, end, _POINT):
            for key, start, _ in self._fields(*point):
                if key in _NUMBERS:
                    value = float(_NUMBERS[key].unpack_from(self._data, start)[0])
                    if math.isfinite(value):
                        self._found.values[name] = value

    def _parts(self, at: int, end: int, field_number: int) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each field with this key."""
        return ((start, stop) for key, start, stop in self._fields(at, end) if key == field_number)

    def _fields(self, at: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield each field's key (its number and encoding), and the start and end of the field's value in a message."""
        data = self._data
        while at < end:
            self._left -= 1
            if self._left < 0:
                raise PushError(PushOutcome.TOO_LARGE, f"it has more than {FIELDS_MAX} fields")
            # Nearly all keys and lengths have one byte, and this loop is most of the work of a push.
            key, start = (data[at], at + 1) if data[at] < _MORE_BYTES else self._varint(at, end)
            kind = key & _KIND_BITS
            if kind == _SIZED:
                if start < end and data[start] < _MORE_BYTES:
                    at = start + 1 + data[start]
                    start += 1
                else:
                    size, start = self._varint(start, end)
                    at = start + size
            elif kind in _FIXED_BYTES:
                at = start + _FIXED_BYTES[kind]
            elif kind == _NUMBER:
                _, at = self._varint(start, end)
            else:
                raise PushError(PushOutcome.INVALID, f"a field has the unknown encoding {kind}")
            if at > end:
                raise PushError(PushOutcome.INVALID, "a field goes past the end of its message")
            yield key, start, at

    def _varint(self, at: int, end: int) -> tuple[int, int]:
        """Return a varint, and the position after it."""
        value = shift = 0
        for byte in self._data[at : min(end, at + _VARINT_BYTES_MAX)]:
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < _MORE_BYTES:
                return value, at
            shift += 7
        raise PushError(PushOutcome.INVALID, "a varint has no end")

    def _text(self, start: int, end: int) -> str:
        if end - start > ATTRIBUTE_BYTES_MAX:
            raise PushError(PushOutcome.TOO_LARGE, f"an attribute has more than {ATTRIBUTE_BYTES_MAX} bytes")
        try:
            return self._data[start:end].decode()
        except UnicodeDecodeError:
            raise PushError(PushOutcome.INVALID, "text is not UTF-8") from None
