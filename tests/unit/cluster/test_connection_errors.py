"""Errors of connections name the setting that may be wrong, and are kept until a broker answers."""

from __future__ import annotations

import json
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from rebalance_agent.clock import FakeClock
from rebalance_agent.cluster.admin_answers import AdminAnswers
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.describing.answer_lines import read_answer, request_line
from rebalance_agent.cluster.describing.connection_errors import KEPT_S, ConnectionErrors
from rebalance_agent.cluster.describing.describing_process import answer_lines
from rebalance_agent.errors import ClusterError

HINT = (
    "the servers accept connections but no requests: if they require a login, set security.protocol to SASL_PLAINTEXT"
)
REFUSED = "h:1/bootstrap: Connect failed: Connection refused"
SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p"}
DOWN, DENIED = KafkaError._TRANSPORT, KafkaError.CLUSTER_AUTHORIZATION_FAILED


def reported(text):
    """An error as librdkafka reports it."""
    return KafkaError(
        KafkaError._ALL_BROKERS_DOWN if text.endswith("brokers are down") else KafkaError._TRANSPORT, text
    )


@pytest.fixture
def asked():
    """Asks a cluster for its id; ``texts``: the errors that its connections report now; the result is the text."""

    def make(properties=None):
        made, texts = Cluster({"bootstrap.servers": "127.0.0.1:9", "log_level": "0", **(properties or {})}), []

        def poll(_):
            while texts:
                made._errors(reported(texts.pop(0)))

        def ask(*more, code=DOWN):
            texts.extend(more)

            def listed(**_):
                if code is None:
                    return SimpleNamespace(topics={}, cluster_id="c")
                raise KafkaException(KafkaError(code, "failed"))

            made._admin = SimpleNamespace(list_topics=listed, poll=poll)
            try:
                return made.identify()[0]
            except ClusterError as error:
                return str(error)

        ask.lost = made.lost
        return ask

    return make


@pytest.mark.parametrize(
    ("properties", "texts", "expected"),
    [
        ({}, ["0/1 brokers are down"], HINT),
        ({"security.protocol": "SSL"}, ["0/2 brokers are down"], HINT),
        ({}, ["1/1 brokers are down"], HINT),
        (SASL, ["0/1 brokers are down"], "reading metadata: 0/1 brokers are down"),
        (SASL, ["1/1 brokers are down"], "reading metadata: 1/1 brokers are down"),
        ({}, [REFUSED], REFUSED),
        ({}, [f"{REFUSED} (after 0ms in state CONNECT, 1 identical error(s) suppressed)"], REFUSED),
        ({}, [REFUSED, "1/1 brokers are down"], REFUSED),
        ({}, [REFUSED, "0/1 brokers are down"], HINT),
        ({}, [], "reading metadata: failed"),
    ],
)
def test_a_port_that_requires_a_login_is_recognised(asked, properties, texts, expected):
    assert expected in asked(properties)(*texts)


def test_the_last_error_is_kept_until_a_broker_answers(asked):
    ask = asked()
    assert REFUSED in ask(REFUSED)
    assert REFUSED in ask(), "librdkafka reports a repeated error once"
    assert ask(code=None) == "c"
    assert ask() == "reading metadata: failed"
    assert REFUSED in ask(REFUSED)
    assert ask(code=DENIED) == "reading metadata: failed", "a broker answered"
    assert ask() == "reading metadata: failed"


def test_an_error_that_librdkafka_repeats_is_not_kept_without_end():
    clock = FakeClock()
    errors = ConnectionErrors("", clock)
    errors(reported(REFUSED))
    clock.advance(int(500 * KEPT_S))
    errors(reported("1/1 brokers are down"))
    assert errors.text == REFUSED
    clock.advance(int(1_000 * KEPT_S))
    assert errors.text == ""
    errors(reported("1/1 brokers are down"))
    clock.advance(int(10_000 * KEPT_S))
    assert HINT in errors.text


def test_lost_connections_are_reported_once(asked):
    ask = asked()
    ask(REFUSED, "1/1 brokers are down")
    assert [ask.lost(), ask.lost()] == [True, False]


@pytest.mark.parametrize(
    ("protocol", "texts", "expected"),
    [
        ("", ["1/1 brokers are down"], HINT),
        ("SASL_SSL", ["1/1 brokers are down"], "1/1 brokers are down"),
        ("", [REFUSED, "1/1 brokers are down"], REFUSED),
        ("", [], "failed"),
    ],
)
def test_the_describing_process_names_the_setting_that_may_be_wrong(protocol, texts, expected):
    errors, ask = ConnectionErrors(protocol), AdminAnswers(1)

    def described(error, *more):
        future = Future()
        future.set_exception(KafkaException(KafkaError(error, "failed")))
        admin = SimpleNamespace(
            describe_consumer_groups=lambda *_, **__: {"g": future},
            poll=lambda _: [errors(reported(text)) for text in more],
        )
        _, answer = read_answer(*answer_lines(admin, ask, json.loads(request_line(["g"], operations=False)), errors))
        return answer.exception().args[0].str()

    assert expected in described(DOWN, *texts)
    assert expected in described(DOWN)
    assert described(KafkaError.GROUP_AUTHORIZATION_FAILED) == "failed"
    assert described(DOWN) == "failed", "a broker answered in the meantime"
