"""The client library is read from ApiVersions of any version, and no content of a client raises an exception."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.gateway.client_software import read_software
from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.model.reported.member_software import ClientSoftware
from support.telemetry.requests import LIBRDKAFKA, greeting


@pytest.mark.parametrize("version", [3, 4, 9])
def test_the_software_is_read_from_api_versions(version):
    frame = struct.pack(">hh", 18, version) + greeting(LIBRDKAFKA)[4:]
    assert read_software(read_head(frame), frame) == ClientSoftware(*LIBRDKAFKA)


def test_clients_of_earlier_versions_have_no_software():
    frame = greeting(version=2)
    assert read_software(read_head(frame), frame) == ClientSoftware()


def test_a_truncated_request_has_no_software():
    frame = greeting(LIBRDKAFKA)
    whole = read_software(read_head(frame), frame)
    for end in range(len(frame)):
        if end >= 10:
            cut = read_software(read_head(frame[:end]), frame[:end])
            assert cut in (ClientSoftware(), ClientSoftware(whole.name), whole)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_exception(rest):
    frame = struct.pack(">hhi", 18, 3, 7) + rest
    found = read_software(read_head(frame), frame)
    assert len(found.name) + len(found.version) < 2 * 127
