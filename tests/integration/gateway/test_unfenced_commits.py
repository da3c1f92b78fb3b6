"""Transactional commits without a member on a real coordinator."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from support.observer.observing import create_topic, eventually

pytestmark = pytest.mark.integration


def test_a_coordinator_accepts_a_transactional_commit_that_names_no_member(kafka):
    create_topic(kafka.bootstrap_servers, "unfenced", 1)
    common = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "unfenced", "enable.auto.commit": False}
    owner, nobody = Consumer(common), Consumer(common)
    owner.subscribe(["unfenced"])
    eventually(lambda: owner.poll(0.1) is None and owner.assignment())
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "unfenced"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition("unfenced", 0, 7)], nobody.consumer_group_metadata(), 20)
    producer.commit_transaction(20)
    (committed,) = owner.committed([TopicPartition("unfenced", 0)], 20)
    owner.close()
    nobody.close()
    assert committed.offset == 7
