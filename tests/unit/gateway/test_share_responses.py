"""Responses of share groups get the gateway's addresses; all other bytes, which Kafka's own classes wrote, are kept."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.transport.addresses import localized, names_addresses
from rebalance_agent.gateway.transport.api_versions import NEWEST
from rebalance_agent.gateway.transport.request_head import RequestHead
from rebalance_agent.groupprotocol.requests.share_responses import read_share_response

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "kafkas_own_bytes.json").read_text(encoding="utf-8"))
APIS = {"ShareFetch": 78, "ShareAcknowledge": 79}
ROWS = GOLDEN["share_responses"]
each_version = pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['api']} v{row['version']}")
row_strategy = st.sampled_from(ROWS)


def frame(row, about):
    """Correlation id, no tagged fields in the header, and the body."""
    return b"\0\0\0\7" + b"\0" + base64.b64decode(row[about])


def head(row, version=None):
    return RequestHead(APIS[row["api"]], row["version"] if version is None else version, 7)


class Here:
    """The gateway's addresses."""

    def __init__(self):
        self.asked = []

    async def local(self, nodes, *, complete=False):
        self.asked.append((nodes, complete))
        return {node: ("127.0.0.1", port) for node, (_, port) in nodes.items()}


def rewritten(row, about, nodes):
    return asyncio.run(localized(head(row), frame(row, about), nodes))


@each_version
def test_brokers_get_the_gateways_addresses_in_kafkas_encoding(row):
    nodes = Here()
    assert rewritten(row, "brokers", nodes) == frame(row, "rewritten")
    assert nodes.asked == [({1: ("broker-1", 9_001), 2: ("broker-2", 9_002)}, False)]


@each_version
def test_a_response_without_brokers_is_unchanged(row):
    assert rewritten(row, "none", Here()) == frame(row, "none")


@each_version
def test_the_newest_versions_of_share_apis_are_offered_and_may_contain_brokers(row):
    assert names_addresses(head(row))
    assert row["version"] <= NEWEST[APIS[row["api"]]]


@pytest.mark.parametrize("version", [0, 3, -1])
@pytest.mark.parametrize("api", APIS)
def test_an_unknown_version_is_refused(api, version):
    row = next(each for each in ROWS if each["api"] == api)
    with pytest.raises(DecodeError, match=f"{api}Response v{version}: only versions 1 to 2 are supported"):
        read_share_response(APIS[api], version, frame(row, "brokers"))


@given(row=row_strategy, about=st.sampled_from(["none", "brokers"]), data=st.data())
def test_a_truncated_or_extended_response_is_refused(row, about, data):
    whole = frame(row, about)
    for broken in (whole[: data.draw(st.integers(0, len(whole) - 1))], whole + b"\0"):
        with pytest.raises(DecodeError):
            read_share_response(APIS[row["api"]], row["version"], broken)


@given(row=row_strategy, data=st.data())
def test_mutated_bytes_raise_only_a_decode_error(row, data):
    damaged = bytearray(frame(row, "brokers"))
    for _ in range(data.draw(st.integers(1, 5))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DecodeError):
        asyncio.run(localized(head(row), bytes(damaged), Here()))


@given(row=row_strategy)
def test_unchanged_fields_are_written_as_received(row):
    assert read_share_response(APIS[row["api"]], row["version"], frame(row, "brokers")).frame() == frame(row, "brokers")
