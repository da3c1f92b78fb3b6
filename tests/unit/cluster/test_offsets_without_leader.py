"""ListOffsets for partitions whose leader changes during the request."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException

from rebalance_agent.cluster import admin_answers
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.errors import ClusterError


def cluster(offsets):
    """One whose brokers give these offsets by partition. A list has one result per request."""

    def answered(result):
        offset, future = result.pop(0) if isinstance(result, list) else result, Future()
        if isinstance(offset, KafkaException):
            future.set_exception(offset)
        else:
            future.set_result(SimpleNamespace(offset=offset))
        return future

    made = Cluster({"bootstrap.servers": "127.0.0.1:9", "log_level": "0"})
    made._admin = SimpleNamespace(
        poll=lambda _: 0, list_offsets=lambda asked, **_: {each: answered(offsets[each.partition]) for each in asked}
    )
    return made


ASKED = {
    "the end": lambda asked: asked.end_offsets("t", [0, 1]),
    "the start": lambda asked: asked.start_offsets("t", [0, 1]),
    "a time": lambda asked: asked.offsets_since("t", [0, 1], 5),
}

SEVERAL = [("t", 0), ("t", 1)]


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_an_offset_that_librdkafka_left_open_is_no_offset(ask):
    """It gives -1001 and no error: taken for an end, a topic looked empty, and a snapshot as if there were none."""
    with pytest.raises(ClusterError, match="its leader changed"):
        ask(cluster({0: 20, 1: OFFSET_INVALID}))
    assert ask(cluster({0: 20, 1: 30})) == {0: 20, 1: 30}


@pytest.mark.parametrize(
    "ask", [lambda asked: asked.ends(SEVERAL), lambda asked: asked.offsets_at(dict.fromkeys(SEVERAL, 5))]
)
def test_of_several_topics_those_are_left_out_whose_leader_went(ask):
    assert ask(cluster({0: 20, 1: OFFSET_INVALID})) == {("t", 0): 20}
    with pytest.raises(ClusterError, match="its leader changed"):
        ask(cluster({0: OFFSET_INVALID, 1: OFFSET_INVALID}))


def test_a_time_after_the_last_record_is_no_failure():
    assert cluster({0: 20, 1: -1}).offsets_since("t", [0, 1], 5) == {0: 20}
    assert cluster({0: 20, 1: -1}).offsets_at(dict.fromkeys(SEVERAL, 5)) == {("t", 0): 20, ("t", 1): -1}


def refused(code):
    return KafkaException(KafkaError(code))


@pytest.mark.parametrize("code", [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE])
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_the_leader_of_a_new_topic_is_asked_again_for_a_while(monkeypatch, ask, code):
    monkeypatch.setattr(admin_answers, "LEADER_WAITS_S", (0.0, 0.0))
    assert ask(cluster({0: 20, 1: [refused(code), refused(code), 30]})) == {0: 20, 1: 30}
    with pytest.raises(ClusterError):
        ask(cluster({0: 20, 1: [refused(code)] * 3}))


def test_other_errors_are_not_repeated():
    with pytest.raises(ClusterError):
        cluster({0: [refused(KafkaError.UNKNOWN_TOPIC_OR_PART), 20]}).end_offsets("t", [0])
