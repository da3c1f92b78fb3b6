"""Answers that come, that fail, and that do not come."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException

from rebalance_agent.collectors.answers import in_time


def test_what_does_not_come_in_time_fails_as_librdkafka_would_say_it():
    come, failed, never = Future(), Future(), Future()
    come.set_result(7)
    failed.set_exception(KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)))
    answers = in_time({"come": come, "failed": failed, "never": never}, 0.01)
    assert answers["come"].result() == 7
    assert answers["failed"] is failed
    with pytest.raises(KafkaException) as told:
        answers["never"].result()
    assert told.value.args[0].code() == KafkaError._TIMED_OUT
    assert in_time({}, 0.01) == {}
