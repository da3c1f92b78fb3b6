"""OTLP's ``MetricsData`` as bytes, written by protobuf's own rules."""

from __future__ import annotations

import struct

__all__ = ["attribute", "field", "gauge", "metrics_data", "resource", "scope", "total", "varint"]


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number, content):
    """A field with a length: bytes, text or a message."""
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def _point(number):
    if isinstance(number, float):
        return varint(4 << 3 | 1) + struct.pack("<d", number)
    return varint(6 << 3 | 1) + struct.pack("<q", number)


def attribute(name, value):
    return field(1, field(1, name) + field(2, field(1, value)))


def gauge(name, *values):
    """A metric of a scope; integers are written as such."""
    points = b"".join(field(1, _point(value)) for value in values)
    return field(2, field(1, name) + field(3, "ms") + field(5, points))


def total(name, *values):
    """A sum: with a temporality, and monotonic."""
    points = b"".join(field(1, varint(3 << 3 | 1) + bytes(8) + _point(value)) for value in values)
    return field(2, field(1, name) + field(7, points + b"\x10\x02\x18\x01"))


def resource(**attributes):
    return field(1, b"".join(attribute(name, value) for name, value in attributes.items()))


def scope(*metrics):
    return field(2, field(1, field(1, "scope")) + b"".join(metrics))


def metrics_data(*metrics, **attributes):
    return field(1, resource(**attributes) + scope(*metrics))
