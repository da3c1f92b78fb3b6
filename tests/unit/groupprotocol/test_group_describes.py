"""The codecs of the requests that describe epoch groups agree with Kafka's own classes, byte for byte."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.requests.consumer_group_describe import CONSUMER_DESCRIBE
from rebalance_agent.groupprotocol.requests.share_group_describe import SHARE_DESCRIBE
from rebalance_agent.groupprotocol.requests.streams_group_describe import STREAMS_DESCRIBE

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "kafkas_own_bytes.json").read_text(encoding="utf-8"))
APIS = {api.name: api for api in (CONSUMER_DESCRIBE, SHARE_DESCRIBE, STREAMS_DESCRIBE)}
ROWS = GOLDEN["describes"]
HEAD = b"\0\0\0\7\0"
"""Of a response: correlation id 7, no tags."""


def kafkas_names(value):
    """Our values with Kafka's names."""
    if isinstance(value, dict):
        return {_camel(name): kafkas_names(inner) for name, inner in value.items()}
    return [kafkas_names(inner) for inner in value] if isinstance(value, list | tuple) else value


def _camel(name):
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def test_there_are_golden_bytes_for_every_version():
    assert {(row["api"], row["version"]) for row in ROWS} == {
        (name, version) for name, api in APIS.items() for version in api.versions
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['api']} v{row['version']}")
def test_requests_are_kafkas_bytes(row):
    api = APIS[row["api"]]
    frame = api.encode(7, "app", ["orders", "h\u00e9llo"], row["version"])
    head = api.key.to_bytes(2, "big") + row["version"].to_bytes(2, "big") + b"\0\0\0\7\0\3app\0"
    assert frame == head + base64.b64decode(row["request"])


def test_requests_for_the_descriptions_of_topologies_are_kafkas_bytes():
    row = next(row for row in ROWS if "topology_request" in row)
    frame = STREAMS_DESCRIBE.encode(7, "app", ["orders", "h\u00e9llo"], row["version"], include_topology_description=1)
    assert frame == b"\0\x59\0\1\0\0\0\7\0\3app\0" + base64.b64decode(row["topology_request"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['api']} v{row['version']}")
def test_responses_are_read_as_kafka_reads_them(row):
    groups = APIS[row["api"]].decode(HEAD + base64.b64decode(row["answer"]), row["version"])
    assert kafkas_names(groups) == row["kafkas_groups"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['api']} v{row['version']}")
def test_truncated_responses_are_refused(row):
    answer = HEAD + base64.b64decode(row["answer"])
    for end in range(len(answer)):
        with pytest.raises(DecodeError, match=f"{row['api']}Response v{row['version']}"):
            APIS[row["api"]].decode(answer[:end], row["version"])
