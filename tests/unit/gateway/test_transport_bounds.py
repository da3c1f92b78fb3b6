"""The work of decoder, log and memory is bounded for each message."""

import logging
import struct

import pytest
from kafka.protocol.consumer import JoinGroupRequest
from kafka.protocol.metadata import FindCoordinatorResponse

from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.rate_limited_log import AGAIN_SECONDS, RateLimitedLog
from rebalance_agent.gateway.transport import splice as splicing
from rebalance_agent.gateway.transport.bounded import PARTS_MAX, BoundedBytes
from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.gateway.transport.splice import Pipes

HEAD = RequestHead(10, 6, 7)


def test_an_endless_varint_is_refused():
    frame = bytes(4) + b"\0" + bytes(4) + b"\xff" * 2_000_000
    with pytest.raises(DecodeError, match="varint"):
        open_frame(FindCoordinatorResponse, HEAD, frame)


def test_tagged_fields_in_each_of_many_structs_are_refused():
    """kafka-python copies the rest of the frame for each of them: a few hundred KiB would take minutes."""
    protocol = b"\x02a\x01\x01\x63\0"
    number = 100_000
    count = bytes([number & 0x7F | 0x80, number >> 7 & 0x7F | 0x80, number >> 14])
    frame = (
        bytes(8) + b"\0\0\0" + b"\x02g" + bytes(8) + b"\x01\0\x09consumer" + count + protocol * (number - 1) + b"\x01\0"
    )
    with pytest.raises(DecodeError, match="too many structs"):
        open_frame(JoinGroupRequest, RequestHead(11, 9, 7), frame)


def test_the_number_of_parts_of_a_frame_is_bounded():
    def frame(number):
        head = struct.pack(">hhih", 11, 4, 1, 0) + struct.pack(">h1sii", 1, b"g", 1, 1)
        return head + struct.pack(">hh8si", 0, 8, b"consumer", number) + bytes(6 * number)

    known = len(open_frame(JoinGroupRequest, RequestHead(11, 4, 1), frame(10_000)).message.protocols)
    assert known == 10_000
    with pytest.raises(DecodeError, match=f"more than {PARTS_MAX} parts"):
        open_frame(JoinGroupRequest, RequestHead(11, 4, 1), frame(PARTS_MAX // 2))


@pytest.mark.parametrize("key", [slice(0, 4), slice(2, 4), slice(3, 1), slice(-1, 2)])
def test_a_truncated_slice_is_refused(key):
    with pytest.raises(IndexError):
        BoundedBytes(b"abc")[key]


def test_high_bytes_that_are_no_varint_are_read():
    data = BoundedBytes(b"\xff\xff\xff\xff\x01\xff\x02")
    assert [data[index] for index in range(7)] == list(data)


def test_repeated_warnings_are_logged_at_an_interval_with_the_number_of_suppressed_ones(caplog):
    clock = FakeClock()
    reported = RateLimitedLog(logging.getLogger("test"), clock)
    for _ in range(5):
        reported.warn("one", "%s of %s", "this", "that")
    reported.warn("other", "else")
    clock.advance(int(AGAIN_SECONDS * 1000))
    reported.warn("one", "%s of %s", "again", "that")
    assert caplog.messages == ["this of that", "else", "again of that (4 more of this kind were not logged)"]


def test_a_broken_moves_pipe_is_not_used_again_and_a_good_one_is():
    pipes = Pipes()
    with pipes.pipe() as good:
        pass
    with pipes.pipe() as same:
        assert same is good
        same.held = 1
    with pipes.pipe() as other:
        assert other is not good
    pipes.close()


def test_without_descriptors_for_a_pipe_there_is_none(monkeypatch):
    def refuse():
        raise OSError(24, "too many open files")

    monkeypatch.setattr(splicing, "Pipe", refuse)
    with Pipes().pipe() as pipe:
        assert pipe is None
