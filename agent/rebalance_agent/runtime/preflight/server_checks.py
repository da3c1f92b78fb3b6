"""Checks each server separately: a client does not detect that a bootstrap server is down if another server answers."""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.acls import mechanism_of
from rebalance_agent.cluster.admin_answers import REQUEST_TIMEOUT_S
from rebalance_agent.cluster.tokens.token_login import with_token_callback
from rebalance_agent.model.group import endpoint_text
from rebalance_agent.runtime.preflight.diagnosis import diagnose
from rebalance_agent.runtime.preflight.findings import Finding, failed, passed, skipped
from rebalance_agent.runtime.settings.kafka_config import without_secrets

__all__ = ["SERVERS_MAX", "ReachableServers", "other_brokers", "reach"]

SERVERS_MAX = 50
"""Maximum number of servers to try; in a larger cluster the other servers are skipped, and the report states this."""

AT_ONCE = 8
"""Maximum number of servers to try at the same time."""

ANSWER_S = 6.0
"""Longest wait for one server's TLS handshake, login and answer together, in seconds."""

POLL_S = 0.02

LOST_MAX = 3
"""Number of connections that a server may close before the check fails: librdkafka reconnects without end."""

_R = TypeVar("_R")

_TRANSIENT = (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._TIMED_OUT)  # noqa: SLF001


@dataclass(frozen=True, slots=True)
class ReachableServers:
    """The finding about one server, and the cluster's id and brokers (node id -> address) if the server answered."""

    finding: Finding
    cluster_id: str = ""
    brokers: Mapping[int, tuple[str, int]] | None = None


def reach(
    servers: Sequence[tuple[str, int]], properties: Mapping[str, str], clock: Clock
) -> Iterator[ReachableServers]:
    """Try to reach the servers, up to `AT_ONCE` at the same time, and yield each result when its attempt ends."""
    yield from _in_parallel(
        [
            partial(_reach, f"server {endpoint_text(*server)}", server, properties, clock)
            for server in servers[:SERVERS_MAX]
        ]
    )
    if len(servers) > SERVERS_MAX:
        left = len(servers) - SERVERS_MAX
        yield ReachableServers(skipped("more servers", f"{left} of {len(servers)} servers were not checked"))


def other_brokers(
    brokers: Mapping[int, tuple[str, int]],
    tried: Iterable[tuple[str, int]],
    properties: Mapping[str, str],
    clock: Clock,
) -> Iterator[ReachableServers]:
    """Try the brokers' advertised addresses (``advertised.listeners``), except those already ``tried``."""
    tried = set(tried)
    others = [(node, address) for node, address in sorted(brokers.items()) if address not in tried]
    yield from _in_parallel(
        [
            partial(_reach, f"broker {node} at {endpoint_text(*address)}", address, properties, clock)
            for node, address in others[:SERVERS_MAX]
        ]
    )


def _reach(name: str, server: tuple[str, int], properties: Mapping[str, str], clock: Clock) -> ReachableServers:
    begun = clock.monotonic()
    errors: list[KafkaError] = []
    settings: dict[str, Any] = with_token_callback(properties)
    settings |= {"bootstrap.servers": endpoint_text(*server), "error_cb": errors.append}
    admin = AdminClient(settings)
    try:
        answer = _await(admin, errors, clock)
    except KafkaException as error:
        what, fix = diagnose(*server, properties, without_secrets(_reason(errors, error.args[0]), properties))
        return ReachableServers(failed(name, what, fix, reached=False))
    took_ms = round((clock.monotonic() - begun) * 1000)
    finding = passed(name, f"{_security(properties)}; answered in {took_ms} ms", reached=True)
    brokers = {node.id: (node.host, node.port) for node in answer.nodes}
    return ReachableServers(finding, answer.cluster_id or "", brokers)


def _await(admin: AdminClient, errors: list[KafkaError], clock: Clock) -> Any:  # noqa: ANN401 - the client's own type
    future = admin.describe_cluster(request_timeout=REQUEST_TIMEOUT_S)
    end = clock.monotonic() + ANSWER_S
    while not future.done() and clock.monotonic() < end:
        admin.poll(POLL_S)
        # librdkafka would retry endlessly.
        lost = [error for error in errors if error.code() == KafkaError._TRANSPORT]  # noqa: SLF001
        if decisive := [error for error in errors if error.code() not in _TRANSIENT] or lost[LOST_MAX:]:
            raise KafkaException(decisive[0])
    if not future.done():
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"no response within {ANSWER_S:g} s"))  # noqa: SLF001
    return future.result()


def _reason(errors: Iterable[KafkaError], last: KafkaError) -> str:
    """Return the most specific error: a permanent error, else the error that ended a connection, else ``last``."""
    for codes in ((), (KafkaError._TRANSPORT,)):  # noqa: SLF001
        for error in errors:
            if error.code() in codes or (not codes and error.code() not in _TRANSIENT):
                # Remove the address, which the finding already contains: "sasl_ssl://kafka:9093/bootstrap: ..."
                return re.sub(r"^\S+://\S+: ", "", error.str())
    return last.str()


def _security(properties: Mapping[str, str]) -> str:
    protocol = properties.get("security.protocol", "plaintext").upper()
    return f"{protocol} with {mechanism_of(properties)}" if protocol.startswith("SASL") else protocol


def _in_parallel(calls: Sequence[Callable[[], _R]]) -> Iterator[_R]:
    """Yield the result of each call when it returns. Threads are daemons, so that Ctrl-C does not wait for them."""
    waiting = deque(calls)
    results: SimpleQueue[Future[_R]] = SimpleQueue()

    def work() -> None:
        while waiting:
            with suppress(IndexError):  # another thread was faster
                results.put(_completed(waiting.popleft()))

    for _ in range(min(AT_ONCE, len(calls))):
        threading.Thread(target=work, daemon=True).start()
    for _ in calls:
        yield results.get().result()


def _completed(call: Callable[[], _R]) -> Future[_R]:
    future: Future[_R] = Future()
    try:
        future.set_result(call())
    except Exception as error:  # noqa: BLE001 - raised where the result is asked for
        future.set_exception(error)
    return future
