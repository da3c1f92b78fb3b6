"""GetTelemetrySubscriptions and PushTelemetry (KIP-714), version 0: a client's requests, and a broker's responses.

``client_instance_id`` identifies a client until it ends; it is the zero UUID until the first response contains an id.
Booleans are 0 or 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rebalance_agent.groupprotocol.wire.byte_reader import decode_whole
from rebalance_agent.groupprotocol.wire.frames import read_request, response_frame
from rebalance_agent.groupprotocol.wire.primitives import BYTES, INT8, INT16, INT32, STRING, UUID, Array
from rebalance_agent.groupprotocol.wire.schema import Field, struct_codec

__all__ = [
    "GET_SUBSCRIPTIONS_KEY",
    "PUSH_KEY",
    "TELEMETRY_VERSION",
    "decode_get_subscriptions",
    "decode_push",
    "encode_push_answer",
    "encode_subscriptions_answer",
]

GET_SUBSCRIPTIONS_KEY = 71
"""API key of GetTelemetrySubscriptions."""
PUSH_KEY = 72
"""API key of PushTelemetry."""
TELEMETRY_VERSION = 0
"""The only version of both APIs."""


def _codec(*fields: Field) -> Any:  # noqa: ANN401 - the codec of a struct is untyped
    return struct_codec(fields, TELEMETRY_VERSION, flexible=True)


_GET = _codec(Field("client_instance_id", UUID))
_SUBSCRIPTIONS = _codec(
    Field("throttle_time_ms", INT32),
    Field("error_code", INT16),
    Field("client_instance_id", UUID),
    Field("subscription_id", INT32),
    Field("accepted_compression_types", Array(INT8)),
    Field("push_interval_ms", INT32),
    Field("telemetry_max_bytes", INT32),
    Field("delta_temporality", INT8),
    Field("requested_metrics", Array(STRING)),
)
_PUSH = _codec(
    Field("client_instance_id", UUID),
    Field("subscription_id", INT32),
    Field("terminating", INT8),
    Field("compression_type", INT8),
    Field("metrics", BYTES),
)
_PUSHED = _codec(Field("throttle_time_ms", INT32), Field("error_code", INT16))


def decode_get_subscriptions(frame: bytes) -> dict[str, Any]:
    """Decode a GetTelemetrySubscriptions request: the whole frame after its length, header included.

    Raises:
        DecodeError: the bytes do not follow the schema.
    """
    return decode_whole("GetTelemetrySubscriptionsRequest v0", frame, lambda reader: read_request(reader, _GET))


def decode_push(frame: bytes) -> dict[str, Any]:
    """Decode a PushTelemetry request; the frame as in `decode_get_subscriptions`.

    Raises:
        DecodeError: the bytes do not follow the schema.
    """
    return decode_whole("PushTelemetryRequest v0", frame, lambda reader: read_request(reader, _PUSH))


def encode_subscriptions_answer(correlation_id: int, fields: Mapping[str, Any]) -> bytes:
    """Encode the response to GetTelemetrySubscriptions as a frame without its length."""
    return response_frame(correlation_id, _SUBSCRIPTIONS, {"throttle_time_ms": 0, **fields})


def encode_push_answer(correlation_id: int, error_code: int) -> bytes:
    """Encode the response to PushTelemetry as a frame without its length."""
    return response_frame(correlation_id, _PUSHED, {"throttle_time_ms": 0, "error_code": error_code})
