"""Decompresses pushed metrics; their size is checked before memory is allocated."""

from __future__ import annotations

import zlib

from rebalance_agent.gateway.telemetry.push_error import PushError, PushOutcome

__all__ = ["GZIP", "PUSH_BYTES_MAX", "UNPACKED_BYTES_MAX", "unpacked"]

PUSH_BYTES_MAX = 64 * 1024
"""Largest push (bytes) as received: librdkafka's has 2 KiB without compression, a Java consumer's with the requested
metrics 3 KiB. A frame of this size is read at once, and uses none of the memory that large frames share."""

UNPACKED_BYTES_MAX = 512 * 1024
"""Largest push (bytes) after decompression."""

_NONE = 0
GZIP = 1
"""The compression type gzip (KIP-714), which every client supports; Java clients before KAFKA-19506 fail with a codec
whose classes are missing."""

_GZIP_FORMAT = zlib.MAX_WBITS | 16


def unpacked(content: bytes, compression_type: int) -> bytes:
    """Decompress the bytes of a push.

    Raises:
        PushError: there are too many bytes, they are compressed with another codec, or damaged.
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
        raise PushError(PushOutcome.INVALID, "its compressed data is damaged") from None
    if decompressor.unconsumed_tail:
        raise PushError(PushOutcome.TOO_LARGE, f"it has more than {UNPACKED_BYTES_MAX} bytes after decompression")
    if not decompressor.eof or decompressor.unused_data:
        raise PushError(PushOutcome.INVALID, "the compressed data is incomplete, or more bytes follow it")
    return plain
