"""Responses that arrive, fail, or never arrive."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException

from rebalance_agent.cluster.admin_answers import REQUEST_TIMEOUT_S, AdminAnswers


def test_a_late_response_fails_with_librdkafkas_error():
    come, failed, never = Future(), Future(), Future()
    come.set_result(7)
    failed.set_exception(KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)))
    made = []

    def request(names, **options):
        made.append(options)
        return dict(zip(names, (come, failed, never), strict=False))

    ask = AdminAnswers(0.01)
    answers = ask(request, ["come", "failed", "never"], states="any")
    assert made == [{"request_timeout": REQUEST_TIMEOUT_S, "states": "any"}], "librdkafka never gives up by itself"
    assert answers["come"].result() == 7
    assert answers["failed"] is failed
    with pytest.raises(KafkaException) as reported:
        answers["never"].result()
    assert reported.value.args[0].code() == KafkaError._TIMED_OUT
    assert ask(request, []) == {}
    assert ask.for_one(lambda **_options: come) == 7
