"""Answers lock requests with the model of a helper group, like a broker with groups of KIP-848."""

from __future__ import annotations

import struct

from rebalance_agent.gateway.seats.locks import LockBeat
from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.groupprotocol.requests.consumer_group_describe import DESCRIBE_KEY
from rebalance_agent.groupprotocol.requests.consumer_group_heartbeat import CONSUMER_HEARTBEAT

NO_GROUP, FORBIDDEN = 69, 30
TAGS = EMPTY = b"\0"


def is_of_locks(frame):
    return read_head(frame).api_key in (CONSUMER_HEARTBEAT.key, DESCRIBE_KEY)


def answer(frame, helper, now, error=None):
    """The response to a lock request; ``error``: the error code of every response."""
    if read_head(frame).api_key == DESCRIBE_KEY:
        return _description(frame, () if error else helper.described(now), error)
    asked = CONSUMER_HEARTBEAT.decode_request(1, frame)
    instance_id = asked["instance_id"]
    beat = LockBeat(instance_id, asked["member_id"], asked["member_epoch"], now, asked["rack_id"])
    if error is None:
        answered = helper.beat(beat, now)
        error, epoch = answered.error, answered.epoch
    else:
        epoch = 0
    numbers = struct.pack(">ih", 0, error) + EMPTY + EMPTY + struct.pack(">iib", epoch, 5_000, -1)
    return frame[4:8] + TAGS + numbers + TAGS


def _description(frame, locks, error):
    error = error or (0 if locks else NO_GROUP)
    members = b"".join(
        _text(lock.member_id)
        + _text(lock.instance_id)
        + _text(lock.note)
        + struct.pack(">i", -2 if lock.released else 1)
        + _text("gateway") * 2
        + b"\1"
        + EMPTY
        + (b"\1" + TAGS) * 2
        + TAGS
        for lock in locks
    )
    counts = struct.pack(">ii", 1, 1)
    group = struct.pack(">h", error) + EMPTY + _text("g") + _text("Stable") + counts + _text("uniform")
    group += bytes([len(locks) + 1]) + members + struct.pack(">i", 0) + TAGS
    return frame[4:8] + TAGS + struct.pack(">i", 0) + b"\2" + group + TAGS


def _text(text):
    if text is None:
        return b"\0"
    data = text.encode()
    size = len(data) + 1
    return (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + data
