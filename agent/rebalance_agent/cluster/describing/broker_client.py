"""Sends requests that librdkafka does not have to all brokers, over kafka-python's connections with their TLS and SASL.

The login comes from librdkafka's properties, translated as for consumers that use both clients.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.tokens.token_login import with_token_callback
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.extras import install_text

__all__ = ["RESPONSE_BYTES_MAX", "BrokerClient", "client_settings"]

RESPONSE_BYTES_MAX = 64 << 20
"""Maximum size of a response: descriptions of a hundred groups with thousands of members."""

RENEW_AFTER = 25
"""Number of successive calls with failing brokers after which all connections are opened again: kafka-python keeps a
refused login of one broker for as long as its connections last."""


def client_settings(properties: Mapping[str, str], timeout: float) -> dict[str, Any]:
    """Return kafka-python's settings for the same brokers and login as librdkafka's ``properties``.

    Raises: InvalidInputError: kafka-python is not installed, or has no equivalent of one of the properties.
    """
    try:
        from rebalance_agent.clients.confluent_assignors.config.security import security  # noqa: PLC0415
    except ImportError:
        problem = f"is not installed; run {install_text('kafka-python')}"
        raise InvalidInputError("kafka-python", problem) from None
    try:
        login = security(with_token_callback(properties), SystemClock())
    except InvalidInputError as error:
        raise InvalidInputError(error.field, "has no equivalent in kafka-python") from None
    return {
        "bootstrap_servers": properties.get("bootstrap.servers", "").split(","),
        "client_id": properties.get("client.id", "rebalance-agent"),
        "request_timeout_ms": round(timeout * 1000),
        "socket_connection_setup_timeout_ms": round(timeout * 1000),
        "receive_message_max_bytes": RESPONSE_BYTES_MAX,
        **login,
    }


class BrokerClient:
    """Connections to all brokers of a cluster. Thread-safe: one call at a time; others wait.

    No code runs between calls. kafka-python opens a broken connection again, with back-off. If no broker answers, all
    connections are closed, and the next call opens new ones.
    """

    def __init__(self, settings: Mapping[str, Any], timeout: float) -> None:
        """``settings``: kafka-python's settings. ``timeout``: seconds for all of a call's responses, and to connect."""
        self._settings, self._timeout = settings, timeout
        self._lock = threading.Lock()
        self._manager: Any = None
        self._failures = 0
        self._closing: weakref.finalize[..., BrokerClient] | None = None

    def nodes(self) -> list[int]:
        """Return the node ids of all brokers.

        Raises:
            ClusterError: no broker can be reached.
        """
        with self._lock:
            return sorted(broker.node_id for broker in self._connected().cluster.brokers())

    def newest(self, key: int, versions: range) -> int | None:
        """Return the newest of ``versions`` of an API that the brokers support; None if they support none.

        Raises:
            ClusterError: no broker can be reached.
        """
        with self._lock:
            oldest, newest = self._connected().broker_version_data.api_versions.get(key, (0, -1))
        return max((version for version in versions if oldest <= version <= newest), default=None)

    def __call__(self, requests: Sequence[tuple[int, Any]]) -> list[Any]:
        """Send each request to the broker with its node id, and return the responses in the same order.

        Requests are kafka-python's own or `FrameRequest`. If a broker fails, a `ClusterError` takes the place of its
        response.

        Raises:
            ClusterError: no broker answers.
        """
        if not requests:
            return []
        with self._lock:
            manager = self._connected()
            answers: list[Any] = self._run(manager, _send_all(manager, requests))
            errors = [answer for answer in answers if isinstance(answer, ClusterError)]
            self._failures = self._failures + 1 if errors else 0
            if len(errors) == len(answers) or self._failures >= RENEW_AFTER:
                self._close()
            if len(errors) == len(answers):
                raise errors[0]
            return answers

    def close(self) -> None:
        """Close the connections. Another call would open new ones."""
        with self._lock:
            self._close()

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
        self._manager, self._closing, self._failures = None, None, 0


async def _send_all(manager: Any, requests: Sequence[tuple[int, Any]]) -> list[Any]:  # noqa: ANN401
    sent = [_send(manager, request, node) for node, request in requests]
    return [await _answer(future, node) for future, (node, _) in zip(sent, requests, strict=True)]


def _send(manager: Any, request: Any, node: int) -> Any:  # noqa: ANN401
    try:
        return manager.send(request, node_id=node)
    except Exception as error:  # noqa: BLE001 - of kafka-python: this broker is unknown, or has refused the login
        return _failed(error, node)


async def _answer(future: Any, node: int) -> Any:  # noqa: ANN401
    if isinstance(future, ClusterError):
        return future
    try:
        return await future
    except Exception as error:  # noqa: BLE001 - of kafka-python, for this broker
        return _failed(error, node)


def _failed(error: Exception, node: int) -> ClusterError:
    return ClusterError(f"broker {node}: {error}")


def _close(manager: Any, net: Any) -> None:  # noqa: ANN401
    manager.close()
    net.close()
