from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from rebalance_agent.demo.errors import DemoError
from rebalance_agent.demo.observed import coordinator_state
from rebalance_agent.demo.observed.coordinator_state import read_coordinator, read_formatter


def record(group, generation):
    value = None if generation is None else {"version": 3, "data": {"generation": generation, "members": []}}
    return json.dumps({"key": {"type": 2, "data": {"group": group}}, "value": value})


@pytest.mark.parametrize("separator", ["", "\n", " \r\n"])
def test_the_last_value_of_each_group_counts(separator):
    text = separator.join([record("a", 1), record("b", 4), record("a", 2)]) + separator
    assert {group: value["generation"] for group, value in read_formatter(text).items()} == {"a": 2, "b": 4}


def test_a_deleted_group_is_left_out():
    assert read_formatter(record("a", 1) + record("a", None)) == {}


def test_empty_output_has_no_group():
    assert read_formatter("") == {}


@pytest.mark.parametrize("text", ["{", "oops", '{"value": 1}', '{"key": 3, "value": 1}', "[]"])
def test_other_output_is_shown(text):
    with pytest.raises(DemoError, match="cannot read the output"):
        read_formatter(text)


def test_a_broker_that_does_not_answer_is_an_error_of_the_demo(monkeypatch):
    def late(*_arguments):
        raise KafkaException(KafkaError(KafkaError.REQUEST_TIMED_OUT))

    monkeypatch.setattr(coordinator_state, "AdminAnswers", lambda _seconds: late)
    with pytest.raises(DemoError, match="--check: the coordinator did not describe its groups"):
        read_coordinator(SimpleNamespace(bootstrap_servers="127.0.0.1:1"), ["orders"])
