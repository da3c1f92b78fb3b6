"""Pushes of clients are decompressed within bounds."""

import gzip
import zlib

import pytest

from rebalance_agent.gateway.telemetry.push_error import PushError, PushOutcome
from rebalance_agent.gateway.telemetry.pushed_bytes import PUSH_BYTES_MAX, UNPACKED_BYTES_MAX, unpacked
from support.memory import traced_memory

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)


def refused(content, codec):
    with pytest.raises(PushError) as refusal:
        unpacked(content, codec)
    return refusal.value.outcome


def test_both_compressions_are_unpacked_up_to_their_bounds():
    most = bytes(UNPACKED_BYTES_MAX)
    assert unpacked(b"plain", NONE) == unpacked(gzip.compress(b"plain"), GZIP) == b"plain"
    assert unpacked(most[:PUSH_BYTES_MAX], NONE) == most[:PUSH_BYTES_MAX]
    assert unpacked(gzip.compress(most), GZIP) == most


@pytest.mark.parametrize("codec", [NONE, GZIP, ZSTD])
def test_a_too_large_push_is_refused_before_decompression(codec):
    assert refused(bytes(PUSH_BYTES_MAX + 1), codec) is PushOutcome.TOO_LARGE


def test_a_push_one_byte_above_the_bound_is_refused_after_decompression():
    assert refused(gzip.compress(bytes(UNPACKED_BYTES_MAX + 1)), GZIP) is PushOutcome.TOO_LARGE


def test_a_decompression_bomb_takes_no_more_memory_than_the_bound():
    bomb = gzip.compress(bytes(60 * 2**20))
    assert len(bomb) <= PUSH_BYTES_MAX
    with traced_memory() as used:
        assert refused(bomb, GZIP) is PushOutcome.TOO_LARGE
        assert used()[1] < 4 * UNPACKED_BYTES_MAX


@pytest.mark.parametrize("codec", [SNAPPY, LZ4, ZSTD, -1, 127])
def test_other_codecs_are_not_supported(codec):
    assert refused(b"x", codec) is PushOutcome.UNSUPPORTED_COMPRESSION


@pytest.mark.parametrize(
    "content",
    [b"", b"plain", gzip.compress(b"x")[:-1], gzip.compress(b"x") + b"y", gzip.compress(b"x") * 2, zlib.compress(b"x")],
)
def test_damaged_compression_is_invalid(content):
    assert refused(content, GZIP) is PushOutcome.INVALID
