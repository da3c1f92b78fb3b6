"""ShareGroupHeartbeat and StreamsGroupHeartbeat are read and written as Kafka's own classes do it."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.requests.share_group_heartbeat import SHARE_HEARTBEAT
from rebalance_agent.groupprotocol.requests.streams_group_heartbeat import STREAMS_HEARTBEAT
from support.gateway.frames import group_frames
from support.heartbeats.heartbeat_values import SHARE_ANSWER, SHARE_REQUEST, STREAMS_ANSWER, STREAMS_REQUEST

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "kafkas_own_bytes.json").read_text(encoding="utf-8"))
APIS = {
    "share_heartbeats": (SHARE_HEARTBEAT, SHARE_REQUEST, SHARE_ANSWER),
    "streams_heartbeats": (STREAMS_HEARTBEAT, STREAMS_REQUEST, STREAMS_ANSWER),
}
SIDES = ("request", "response")
MESSAGES = [
    pytest.param(name, row, side, id=f"{name} v{row['version']} {side}")
    for name in APIS
    for row in GOLDEN[name]
    for side in SIDES
]
each_message = pytest.mark.parametrize(("name", "row", "side"), MESSAGES)
each_side = pytest.mark.parametrize("side", SIDES)
each_api = pytest.mark.parametrize("name", APIS)


def frame_of(api, version, side):
    frames = group_frames(api.key, version)
    return frames.request if side == "request" else frames.answer


def decoder(api, side):
    return api.decode_request if side == "request" else api.decode_answer


@each_api
def test_all_versions_are_compared(name):
    assert [row["version"] for row in GOLDEN[name]] == list(APIS[name][0].versions)


@each_message
def test_our_bytes_are_kafkas(name, row, side):
    head = 14 if side == "request" else 5
    assert frame_of(APIS[name][0], row["version"], side)[head:] == base64.b64decode(row[side])


@each_message
def test_kafkas_bytes_are_read(name, row, side):
    api, *both = APIS[name]
    schema, values = (api.request, both[0]) if side == "request" else (api.answer, both[1])
    decoded = decoder(api, side)(row["version"], frame_of(api, row["version"], side))
    present = {field.name: values[field.name] for field in schema if field.since <= row["version"] <= field.until}
    assert json.loads(json.dumps(decoded)) == json.loads(json.dumps(present))


@each_api
@each_side
def test_a_frame_that_ends_early_or_late_is_refused(name, side):
    api = APIS[name][0]
    frame = frame_of(api, 1, side)
    for broken in (frame[:-2], frame + b"\0"):
        with pytest.raises(DecodeError):
            decoder(api, side)(1, broken)
