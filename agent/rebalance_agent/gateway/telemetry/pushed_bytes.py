"""Decompresses pushed metrics, with a limit on their size before and after decompression."""

from __future__ import annotations

import zlib

from rebalance_agent.gateway.telemetry.push_error import PushError, PushOutcome

__all__ = ["GZIP", "PUSH_BYTES_MAX", "UNPACKED_BYTES_MAX", "unpacked"]

PUSH_BYTES_MAX = 64 * 1024
"""Largest push (bytes) as received: librdkafka's pushes have 2 KiB without compression, and a Java consumer's pushes of
the requested metrics 3 KiB. A frame of this size is read at once, and uses no memory of the budget for large frames."""

UNPACKED_BYTES_MAX = 512 * 1024
"""Largest push (bytes) after decompression."""

_NONE = 0
GZIP = 1
"""The compression type gzip (KIP-714), which every client supports. Java clients before KAFKA-19506 fail if they are
offered a codec whose classes are missing."""

_GZIP_FORMAT = zlib.MAX_WBITS | 16


def unpacked(content: bytes, compression_type: int) -> bytes:
    """Decompress the bytes of a push.

    Raises:
        PushError: there are too many bytes, or they are damaged or compressed with another codec.
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
