"""The gateway writes parsed messages back byte for byte, and rejects bytes that are no message."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.admin import DescribeClusterResponse
from kafka.protocol.consumer import JoinGroupRequest, JoinGroupResponse, SyncGroupRequest, SyncGroupResponse
from kafka.protocol.metadata import ApiVersionsResponse, FindCoordinatorResponse, MetadataResponse
from kafka.protocol.producer import ProduceResponse

from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.transport.addresses import localized, names_addresses
from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import RequestHead
from support.kafka.wire_values import framed_answers, messages

ANSWERS = (
    ProduceResponse,
    MetadataResponse,
    FindCoordinatorResponse,
    JoinGroupResponse,
    SyncGroupResponse,
    DescribeClusterResponse,
)
UNSUPPORTED_VERSION = 35
REQUESTS = (JoinGroupRequest, SyncGroupRequest)
each_answer = pytest.mark.parametrize("kind", ANSWERS, ids=lambda kind: kind.name)
each_request = pytest.mark.parametrize("kind", REQUESTS, ids=lambda kind: kind.name)


def versions(kind):
    return st.integers(0, kind.max_version)


def head(kind, version):
    return RequestHead(kind.API_KEY, version, 7)


@each_answer
@given(data=st.data())
def test_an_unchanged_response_has_the_same_bytes(kind, data):
    version = data.draw(versions(kind))
    frame = data.draw(framed_answers(kind, version))
    assert open_frame(kind, head(kind, version), frame).frame() == frame


@each_request
@given(data=st.data())
def test_an_unchanged_request_has_the_same_bytes(kind, data):
    version = data.draw(versions(kind))
    message = data.draw(messages(kind, version))
    message.with_header(correlation_id=7, client_id=data.draw(st.none() | st.text(max_size=20)))
    frame = bytes(message.encode(header=True))
    assert open_frame(kind, head(kind, version), frame).frame() == frame


@given(data=st.data(), error=st.sampled_from([0, 35, 42]))
def test_api_versions_are_read_in_every_version_and_unknown_ones_in_version_0(data, error):
    version = data.draw(versions(ApiVersionsResponse))
    message = data.draw(messages(ApiVersionsResponse, version))
    body = ApiVersionsResponse(version=0, error_code=error, api_keys=message.api_keys)
    message.error_code = error
    message.with_header(correlation_id=7)
    body.with_header(correlation_id=7)
    unknown = error == UNSUPPORTED_VERSION
    frame = bytes((body if unknown else message).encode(header=True))
    opened = open_frame(ApiVersionsResponse, head(ApiVersionsResponse, version), frame)
    assert opened.version == (0 if unknown else version)
    assert opened.frame() == frame


@each_answer
@given(data=st.data())
def test_a_truncated_or_extended_response_is_refused(kind, data):
    version = data.draw(versions(kind))
    frame = data.draw(framed_answers(kind, version))
    with pytest.raises(DecodeError):
        open_frame(kind, head(kind, version), frame[: data.draw(st.integers(0, len(frame) - 1))])
    with pytest.raises(DecodeError):
        open_frame(kind, head(kind, version), frame + b"\0")


class Anywhere:
    async def local(self, nodes, *, complete=False):
        return dict.fromkeys(nodes, ("127.0.0.1", 1))


@each_answer
@given(data=st.data())
def test_mutated_bytes_raise_only_a_decode_error(kind, data):
    version = data.draw(versions(kind))
    frame = bytearray(data.draw(framed_answers(kind, version)))
    for _ in range(data.draw(st.integers(1, 5))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DecodeError):
        open_frame(kind, head(kind, version), bytes(frame))
    if names_addresses(head(kind, version)):
        with contextlib.suppress(DecodeError, StopIteration):
            localized(head(kind, version), bytes(frame), Anywhere()).send(None)


@each_answer
@given(data=st.data())
def test_any_bytes_raise_only_a_decode_error(kind, data):
    with contextlib.suppress(DecodeError):
        open_frame(kind, head(kind, data.draw(versions(kind))), data.draw(st.binary(max_size=300)))
