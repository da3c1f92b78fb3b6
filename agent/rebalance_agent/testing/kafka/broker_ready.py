"""Checks whether a broker is ready, with two requests of Kafka's protocol and without a Kafka client.

Both requests have versions without flexible fields (Kafka protocol guide): Metadata v2, the first version with the
cluster's id, and FindCoordinator v1.
"""

from __future__ import annotations

import socket
from typing import Any

from rebalance_agent.groupprotocol.wire.byte_reader import Reader, WireError
from rebalance_agent.groupprotocol.wire.primitives import INT8, INT16, INT32, STRING, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct, struct_codec

__all__ = ["coordinator_ready", "live_brokers"]

TIMEOUT_S = 2.0
"""Timeout, in seconds, of one request on the loopback interface. A broker that is still starting is queried again."""

ANSWER_MAX = 1 << 20
"""Maximum size of a response in bytes. With a few brokers, a response has a few hundred bytes."""

_SIZE_BYTES = 4
_CLIENT = "embedded-kafka"

_HEAD = (Field("api_key", INT16), Field("version", INT16), Field("correlation_id", INT32), Field("client_id", STRING))
_BROKER = Struct(
    Field("node_id", INT32), Field("host", STRING), Field("port", INT32), Field("rack", STRING, nullable_since=0)
)
_METADATA = (
    (*_HEAD, Field("topics", Array(STRING))),
    (Field("correlation_id", INT32), Field("brokers", Array(_BROKER)), Field("cluster_id", STRING)),
)
_FIND_COORDINATOR = (
    (*_HEAD, Field("key", STRING), Field("key_type", INT8)),
    (Field("correlation_id", INT32), Field("throttle_time_ms", INT32), Field("error_code", INT16)),
)
"""Fields of the request, and of the response up to the last field that is read."""


def live_brokers(host: str, port: int) -> tuple[str, frozenset[int]]:
    """Return the cluster's id, and the node ids of its live brokers (registered and not fenced).

    Raises:
        OSError: no connection, or no response in time.

    """
    answer = _ask(host, port, _METADATA, {"api_key": 3, "version": 2, "topics": ()})  # no topics, only brokers
    return answer["cluster_id"], frozenset(broker["node_id"] for broker in answer["brokers"])


def coordinator_ready(host: str, port: int, group: str) -> bool:
    """Whether ``group`` has a coordinator. The request makes Kafka create the offsets topic if it does not exist.

    Raises:
        OSError: no connection, or no response in time.

    """
    request = {"api_key": 10, "version": 1, "key": group, "key_type": 0}  # key type 0: a group
    return bool(_ask(host, port, _FIND_COORDINATOR, request)["error_code"] == 0)


def _ask(
    host: str, port: int, fields: tuple[tuple[Field, ...], tuple[Field, ...]], values: dict[str, Any]
) -> dict[str, Any]:
    request, answer = (struct_codec(schema, values["version"], flexible=False) for schema in fields)
    body = bytearray()
    request.write(body, {"correlation_id": 1, "client_id": _CLIENT, **values})
    with socket.create_connection((host, port), timeout=TIMEOUT_S) as connection, connection.makefile("rb") as received:
        connection.sendall(len(body).to_bytes(_SIZE_BYTES, "big") + body)
        size = int.from_bytes(received.read(_SIZE_BYTES), "big")
        if size > ANSWER_MAX:
            raise ConnectionError(f"a response of {size} bytes: this is not a Kafka broker")
        try:
            values_read: dict[str, Any] = answer.read(Reader(received.read(size)))
        except WireError as error:
            raise ConnectionError(error.describe("the broker's response")) from None
    return values_read
