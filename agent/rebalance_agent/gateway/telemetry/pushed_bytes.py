"""Decompresses pushed metrics; their size is bounded before memory is used."""

from __future__ import annotations

import zlib

from rebalance_agent.gateway.telemetry.push_error import PushError, PushOutcome

__all__ = ["GZIP", "PUSH_BYTES_MAX", "UNPACKED_BYTES_MAX", "unpacked"]

PUSH_BYTES_MAX = 64 * 1024
"""Bytes of a push as it comes: librdkafka's has 2 KiB without compression, a Java consumer's with the metrics that are
asked for 3. A frame of this size is read at once, and costs none of the memory that large frames share."""

UNPACKED_BYTES_MAX = 512 * 1024
"""Bytes of a push without its compression."""

_NONE = 0
GZIP = 1
"""A compression type (KIP-714). Every client has gzip; Java's before KAFKA-19506 fails with a codec whose classes it
lacks."""

_GZIP_FORMAT = zlib.MAX_WBITS | 16


def unpacked(content: bytes, compression_type: int) -> bytes:
    """The bytes that a client compressed.

    Raises:
        PushError: they are too many, or compressed by another codec, or damaged.
    """
    if len(content) > PUSH_BYTES_MAX:
        raise PushError(PushOutcome.TOO_LARGE, f"it has more than {PUSH_BYTES_MAX} bytes")
    if compression_type == _NONE:
        return content
    if compression_type != GZIP:
        raise PushError(PushOutcome.UNSUPPORTED_COMPRESSION, f"it is compressed by codec {compression_type}")
    decompressor = zlib.decompressobj(_GZIP_FORMAT)
    try:
        plain = decompressor.decompress(content, UNPACKED_BYTES_MAX)
    except zlib.error:
        raise PushError(PushOutcome.INVALID, "its compression is damaged") from None
    if decompressor.unconsumed_tail:
        raise PushError(PushOutcome.TOO_LARGE, f"it has more than {UNPACKED_BYTES_MAX} bytes without compression")
    if not decompressor.eof or decompressor.unused_data:
        raise PushError(PushOutcome.INVALID, "the compressed data is incomplete, or more bytes follow it")
    return plain
