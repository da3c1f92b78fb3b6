"""The codec of DescribeShareGroupOffsets agrees with Kafka's own classes, byte for byte."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.requests.share_group_offsets import (
    SHARE_OFFSETS,
    decode_share_offsets,
    encode_share_offsets,
)

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "kafkas_own_bytes.json").read_text(encoding="utf-8"))
ROWS = {row["version"]: row for row in GOLDEN["share_offsets"]}
HEAD = b"\0\0\0\7\0"
"""Of a response: correlation id 7, no tags."""


def test_there_are_golden_bytes_for_every_version():
    assert list(ROWS) == list(SHARE_OFFSETS.versions)


@pytest.mark.parametrize("version", SHARE_OFFSETS.versions)
def test_requests_are_kafkas_bytes(version):
    frame = encode_share_offsets(7, "app", ["orders", "h\u00e9llo"], version)
    head = SHARE_OFFSETS.key.to_bytes(2, "big") + version.to_bytes(2, "big") + b"\0\0\0\7\0\3app\0"
    assert frame == head + base64.b64decode(ROWS[version]["request"])


@pytest.mark.parametrize("version", SHARE_OFFSETS.versions)
def test_responses_are_read_as_kafka_reads_them(version):
    orders, refused = decode_share_offsets(HEAD + base64.b64decode(ROWS[version]["answer"]), version)
    (topic,) = orders["topics"]
    kafkas = ROWS[version]["kafkas_groups"][0]["topics"][0]
    assert (topic["topic_name"], topic["topic_id"]) == (kafkas["topicName"], kafkas["topicId"])
    rows = [(row["partition_index"], row["start_offset"], row.get("lag")) for row in topic["partitions"]]
    assert rows == [(row["partitionIndex"], row["startOffset"], row.get("lag")) for row in kafkas["partitions"]]
    assert (refused["group_id"], refused["error_code"], refused["error_message"]) == ("x", 30, "denied")


@pytest.mark.parametrize("version", SHARE_OFFSETS.versions)
def test_truncated_responses_are_refused(version):
    answer = HEAD + base64.b64decode(ROWS[version]["answer"])
    for end in range(len(answer)):
        with pytest.raises(DecodeError, match=f"DescribeShareGroupOffsetsResponse v{version}"):
            decode_share_offsets(answer[:end], version)
