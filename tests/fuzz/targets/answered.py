"""Responses: of webhooks, a consumer's sidecar and an agent over HTTP, and statistics of librdkafka."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import ExitStack, suppress
from functools import cache
from unittest import mock

from fuzz.target import KB, MB, Target
from fuzz.targets.commands import answers
from rebalance_agent.api.query import NotKnownError
from rebalance_agent.cli.inputs.agent_api import AgentApi, AgentError
from rebalance_agent.clients.confluent_kafka.group_position import generation_in
from rebalance_agent.clients.confluent_kafka.statistics import Statistics
from rebalance_agent.clock import FakeClock
from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.instrumentation.delivery.endpoint import Endpoint
from rebalance_agent.instrumentation.delivery.outbox import Batch
from rebalance_agent.runtime.settings.webhook_target import webhook_target
from rebalance_agent.runtime.sinks.queued_sink import DeliveryError
from rebalance_agent.runtime.sinks.webhook_sink import Webhook
from support.observer.views import NOW

__all__ = ["TARGETS"]

URL = "http://127.0.0.1:1"
"""An address without a broker: each connection gets the response of `answering`."""

LINES = [b"{}", b"[]", b"0"]

WORDS = (
    b"\r\n", b"\r\n\r\n", b"HTTP/1.1 ", b"HTTP/1.1 100 Continue\r\n\r\n", b"200", b"302", b"400", b"401", b"429",
    b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"Retry-After: ", b"Location: http://[", b'{"line": 2}',
    b"0\r\n\r\n", b"\x1b[2J", b"99999999999999999999", b"-1",
)  # fmt: skip


@cache
def listener():
    return socket.create_server(("127.0.0.1", 0))


def answering(answer, stack):
    """Every connection within ``stack`` gets this answer; yields the callers in order."""
    connect, made = socket.create_connection, []

    def connected(address, timeout=None, *_others, **_more):
        ours = connect(listener().getsockname(), timeout)
        theirs, _ = listener().accept()
        stack.callback(theirs.close)
        theirs.sendall(answer)
        theirs.shutdown(socket.SHUT_WR)
        made.append(address)
        return ours

    stack.enter_context(mock.patch.object(socket, "create_connection", connected))
    return made


def take_http_answer(data):
    """The first byte chooses the client; the rest is the answer to each of its requests."""
    ask = (_of_webhook, _of_sidecar, _of_agent)[data[0] % 3 if data else 0]
    with ExitStack() as stack:
        ask(answering(data[1:], stack))


def _of_webhook(made):
    """Its deadline passes as soon as it would wait; it does not wait if the response names a wrong line."""
    clock = FakeClock(NOW)
    webhook = Webhook(webhook_target(URL), clock, seconds=1.0, backoff=lambda: Backoff(first_s=9.0))
    delivered = range(len(LINES))
    try:
        webhook.deliver(LINES, threading.Event())
    except DeliveryError as error:
        delivered = error.delivered
    assert {*delivered} <= {*range(len(LINES))}
    assert 1 <= len(made) <= len(LINES)


def _of_sidecar(made):
    """The consumer raises no exception and logs one line."""
    answer = Endpoint("127.0.0.1", 1).post(Batch(b"{}\n", 1, 0))
    assert answer.reason.isprintable(), answer
    assert len(made) == 1


def _of_agent(made):
    api = AgentApi(URL)
    for asked in (api.groups, lambda: api.group("g")):
        with suppress(AgentError, NotKnownError):
            asked()
    assert len(made) == 2


def take_librdkafka(data):
    """Statistics, then after a zero byte the result of `consumer_group_metadata`."""
    text, _, opaque = data.partition(b"\0")
    statistics = Statistics(str.encode)
    for _ in range(2):
        statistics.read(text.decode("utf-8", "replace"))
    assert statistics.unreadable in {0, 2}
    generation = generation_in(opaque, "member-1")
    assert -(2**31) <= generation < 2**31


def http_answers():
    form = b"HTTP/1.1 %s\r\nContent-Length: %d\r\nContent-Type: application/json\r\n%s\r\n%s"
    agents = [body.partition(b"\n")[2] for body in answers()[:2]]
    wrong, gone = json.dumps({"error": "kind: is missing", "line": 2}).encode(), b'{"error": "there is no group"}'
    said = [
        *(b"\2" + form % (b"200 OK", len(body), b"", body) for body in agents),
        b"\2" + form % (b"404 Not Found", len(gone), b"", gone),
        b"\2" + form % (b"302 Found", 0, b"Location: http://h/x\r\n", b""),
    ]
    for who in (b"\0", b"\1"):
        said += [
            who + form % (b"200 OK", 2, b"", b"{}"),
            who + form % (b"400 Bad Request", len(wrong), b"", wrong),
            who + form % (b"503 Busy", 0, b"Retry-After: 3\r\n", b""),
            who + b"HTTP/1.1 429 Later\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n0\r\n\r\n",
        ]
    return said


def reported_by_librdkafka():
    section = {"state": "up", "rebalance_cnt": 3, "rebalance_reason": "Broker: Unknown member", "assignment_size": 2}
    statistics = json.dumps({"name": "c", "topics": {"t": {"partitions": {}}}, "cgrp": section, "eos": {}})
    return [statistics.encode() + b"\0CGMDv2:" + (7).to_bytes(4, "little") + b"orders\0member-1\0"]


TARGETS = (
    # Python allocates memory for everything that a command would read from an agent before the first byte arrives.
    Target("http-answer", take_http_answer, http_answers, WORDS, 1.0, 68 * MB, 400, 20 * KB, threaded=True),
    Target("librdkafka", take_librdkafka, reported_by_librdkafka, (b'"cgrp":', b"CGMDv2:", b"rebalance_cnt")),
)
