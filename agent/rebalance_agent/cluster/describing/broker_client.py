"""Sends requests that librdkafka does not have to all brokers, over kafka-python's connections with their TLS and SASL.

The login is that of librdkafka's properties, translated as for consumers that use both clients.
"""

from __future__ import annotations

import logging
import struct
import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple

from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.tokens.token_login import with_token_callback
from rebalance_agent.errors import ClusterError, InvalidInputError

__all__ = ["RESPONSE_BYTES_MAX", "BrokerClient", "FrameRequest", "client_settings"]

RESPONSE_BYTES_MAX = 64 << 20
"""Maximum size of a response: descriptions of a hundred groups with thousands of members."""

_LENGTH = struct.Struct(">i")

# kafka-python writes a line for each attempt to connect; failures are reported by the polls that they end.
logging.getLogger("kafka").setLevel(logging.CRITICAL)


class _Head(NamedTuple):
    correlation_id: int


class FrameRequest:
    """A request as kafka-python's connections send it; ``encode`` returns the frame for a correlation id.

    The response is the whole frame after its length, as bytes.
    """

    def __init__(self, key: int, version: int, encode: Callable[[int, str], bytes]) -> None:
        """``encode`` is called with the correlation id and the client id."""
        self.API_KEY, self.API_VERSION = self.api_key, self.api_version = key, version
        self._encode, self.correlation_id, self._client_id = encode, 0, ""

    @property
    def header(self) -> FrameRequest:
        """The request itself, which knows its correlation id and how to read the response."""
        return self

    def with_header(self, correlation_id: int, client_id: str) -> None:
        """Store the ids of the header."""
        self.correlation_id, self._client_id = correlation_id, client_id

    def encode(self, *, framed: bool, header: bool) -> bytes:  # noqa: ARG002 - always with both
        """Return the request with its length and header."""
        frame = self._encode(self.correlation_id, self._client_id)
        return _LENGTH.pack(len(frame)) + frame

    def expect_response(self) -> bool:
        """Whether the broker answers: always."""
        return True

    def get_response_class(self) -> type[FrameRequest]:
        """Return the class that reads the response: this one."""
        return FrameRequest

    @staticmethod
    def parse_header(frame: Any) -> _Head:  # noqa: ANN401 - kafka-python's buffer
        """Read the correlation id, and leave the buffer at its beginning."""
        head = _Head(*_LENGTH.unpack(frame.read(_LENGTH.size)))
        frame.seek(0)
        return head

    @staticmethod
    def decode(frame: Any) -> bytes:  # noqa: ANN401
        """Return the whole response."""
        return bytes(frame.read())


def client_settings(properties: Mapping[str, str], timeout: float) -> dict[str, Any]:
    """kafka-python's settings for the same brokers and login as librdkafka's ``properties``.

    Raises:
        InvalidInputError: kafka-python is not installed, or has nothing like one of the properties.
    """
    try:
        from rebalance_agent.clients.confluent_assignors.config.security import security  # noqa: PLC0415
    except ImportError:
        raise InvalidInputError("kafka-python", "is not installed") from None
    try:
        login = security(with_token_callback(properties), SystemClock())
    except InvalidInputError as error:
        raise InvalidInputError(error.field, "has no equivalent in kafka-python") from None
    return {
        "bootstrap_servers": properties.get("bootstrap.servers", "").split(","),
        "client_id": properties.get("client.id", "rebalance-agent"),
        "request_timeout_ms": round(timeout * 1000),
        "socket_connection_setup_timeout_ms": round(timeout * 1000),
        "max_in_flight_requests_per_connection": 100,
        "receive_message_max_bytes": RESPONSE_BYTES_MAX,
        **login,
    }


class BrokerClient:
    """Connections to all brokers of a cluster. Thread-safe: one call at a time; others wait.

    Nothing runs between calls. After an error the connections are closed, and the next call opens new ones.
    """

    def __init__(self, settings: Mapping[str, Any], timeout: float) -> None:
        """``settings``: of kafka-python. ``timeout``: seconds for all of a call's responses, and again to connect."""
        self._settings, self._timeout = settings, timeout
        self._lock = threading.Lock()
        self._manager: Any = None
        self._closing: weakref.finalize[..., BrokerClient] | None = None

    def nodes(self) -> list[int]:
        """Return the node ids of all brokers.

        Raises:
            ClusterError: no broker can be reached.
        """
        with self._lock:
            return sorted(broker.node_id for broker in self._connected().cluster.brokers())

    def newest(self, key: int, versions: range) -> int | None:
        """Return the newest of ``versions`` of an API that the brokers have; None if they have none.

        Raises:
            ClusterError: no broker can be reached.
        """
        with self._lock:
            oldest, newest = self._connected().broker_version_data.api_versions.get(key, (0, -1))
        return max((version for version in versions if oldest <= version <= newest), default=None)

    def __call__(self, requests: Sequence[tuple[int, Any]]) -> list[Any]:
        """Send each request to the broker with its node id, and return the responses in the same order.

        Requests are kafka-python's own or `FrameRequest`. The response of a broker that fails is None.

        Raises:
            ClusterError: no broker answers.
        """
        if not requests:
            return []
        with self._lock:
            manager = self._connected()
            answers: list[Any]
            answers, error = self._run(manager, _send_all(manager, requests))
            if error is not None:
                self._close()
                if all(answer is None for answer in answers):
                    raise ClusterError(str(error))
            return answers

    def _connected(self) -> Any:  # noqa: ANN401
        if self._manager is None:
            from kafka.net.manager import KafkaConnectionManager  # noqa: PLC0415 - of an extra
            from kafka.net.selector import NetworkSelector  # noqa: PLC0415 - the same

            net = NetworkSelector()
            self._manager = manager = KafkaConnectionManager(net, **self._settings)
            self._closing = weakref.finalize(self, _close, manager, net)
            try:
                manager.bootstrap(round(self._timeout * 1000))
            except Exception as error:  # noqa: BLE001 - of kafka-python
                self._close()
                raise ClusterError(f"connecting with kafka-python: {error}") from None
        return self._manager

    def _run(self, manager: Any, coroutine: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401
        try:
            return manager.run(coroutine)
        except Exception as error:  # noqa: BLE001 - of kafka-python
            self._close()
            raise ClusterError(f"asking brokers with kafka-python: {error}") from None

    def _close(self) -> None:
        if self._closing:
            self._closing()
        self._manager = self._closing = None


async def _send_all(manager: Any, requests: Sequence[tuple[int, Any]]) -> tuple[list[Any], Exception | None]:  # noqa: ANN401
    sent = [manager.send(request, node_id=node) for node, request in requests]
    answers, last = [], None
    for future in sent:
        try:
            answers.append(await future)
        except Exception as error:  # noqa: BLE001 - of kafka-python, for this broker
            answers.append(None)
            last = error
    return answers, last


def _close(manager: Any, net: Any) -> None:  # noqa: ANN401
    manager.close()
    net.close()
