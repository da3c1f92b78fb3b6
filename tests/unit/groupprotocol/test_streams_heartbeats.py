"""StreamsGroupHeartbeat is read and written as Kafka's own classes do it."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.requests.streams_group_heartbeat import STREAMS_HEARTBEAT
from support.gateway.frames import group_frames
from support.heartbeats.heartbeat_values import STREAMS_ANSWER, STREAMS_REQUEST

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "kafkas_own_bytes.json").read_text(encoding="utf-8"))
SIDES = [
    ("request", STREAMS_HEARTBEAT.decode_request, STREAMS_HEARTBEAT.request, STREAMS_REQUEST),
    ("response", STREAMS_HEARTBEAT.decode_answer, STREAMS_HEARTBEAT.answer, STREAMS_ANSWER),
]
each_version = pytest.mark.parametrize("row", GOLDEN["streams_heartbeats"], ids=lambda row: f"v{row['version']}")
each_side = pytest.mark.parametrize(("side", "decode", "schema", "values"), SIDES, ids=["request", "response"])


def frame_of(version, side):
    frames = group_frames(STREAMS_HEARTBEAT.key, version)
    return frames.request if side == "request" else frames.answer


def test_all_versions_are_compared():
    assert [row["version"] for row in GOLDEN["streams_heartbeats"]] == list(STREAMS_HEARTBEAT.versions)


@each_version
@each_side
def test_our_bytes_are_kafkas(row, side, decode, schema, values):
    head = 14 if side == "request" else 5
    assert frame_of(row["version"], side)[head:] == base64.b64decode(row[side])


@each_version
@each_side
def test_kafkas_bytes_are_read(row, side, decode, schema, values):
    decoded = decode(row["version"], frame_of(row["version"], side))
    present = {field.name: values[field.name] for field in schema if field.since <= row["version"] <= field.until}
    assert json.loads(json.dumps(decoded)) == json.loads(json.dumps(present))


@each_side
def test_a_frame_that_ends_early_or_late_is_refused(side, decode, schema, values):
    frame = frame_of(1, side)
    for broken in (frame[:-2], frame + b"\0"):
        with pytest.raises(DecodeError):
            decode(1, broken)
