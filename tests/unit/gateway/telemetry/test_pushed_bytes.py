"""What clients push is unpacked within bounds."""

import gzip
import tracemalloc
import zlib

import pytest

from rebalance_agent.gateway.telemetry.push_error import PushError, PushOutcome
from rebalance_agent.gateway.telemetry.pushed_bytes import PUSH_BYTES_MAX, UNPACKED_BYTES_MAX, unpacked

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)


def refused(content, codec):
    with pytest.raises(PushError) as refusal:
        unpacked(content, codec)
    return refusal.value.outcome


def test_both_forms_are_unpacked_up_to_their_bounds():
    most = bytes(UNPACKED_BYTES_MAX)
    assert unpacked(b"plain", NONE) == unpacked(gzip.compress(b"plain"), GZIP) == b"plain"
    assert unpacked(most[:PUSH_BYTES_MAX], NONE) == most[:PUSH_BYTES_MAX]
    assert unpacked(gzip.compress(most), GZIP) == most


@pytest.mark.parametrize("codec", [NONE, GZIP, ZSTD])
def test_too_many_bytes_are_refused_as_they_came(codec):
    assert refused(bytes(PUSH_BYTES_MAX + 1), codec) is PushOutcome.TOO_LARGE


def test_a_byte_too_much_is_refused_without_its_compression():
    assert refused(gzip.compress(bytes(UNPACKED_BYTES_MAX + 1)), GZIP) is PushOutcome.TOO_LARGE


def test_a_bomb_takes_no_more_memory_than_its_bound():
    bomb = gzip.compress(bytes(60 * 2**20))
    assert len(bomb) <= PUSH_BYTES_MAX
    tracemalloc.start()
    try:
        assert refused(bomb, GZIP) is PushOutcome.TOO_LARGE
        assert tracemalloc.get_traced_memory()[1] < 4 * UNPACKED_BYTES_MAX
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codec", [SNAPPY, LZ4, ZSTD, -1, 127])
def test_other_codecs_are_not_supported(codec):
    assert refused(b"x", codec) is PushOutcome.UNSUPPORTED_COMPRESSION


@pytest.mark.parametrize(
    "content",
    [b"", b"plain", gzip.compress(b"x")[:-1], gzip.compress(b"x") + b"y", gzip.compress(b"x") * 2, zlib.compress(b"x")],
)
def test_damaged_compression_is_invalid(content):
    assert refused(content, GZIP) is PushOutcome.INVALID
