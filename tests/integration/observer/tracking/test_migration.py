"""From eager to cooperative without stopping the group, in two rolling restarts (KIP-429), on a real broker."""

from __future__ import annotations

import pytest
from kafka.admin import KafkaAdminClient
from kafka.errors import InconsistentGroupProtocolError

from support.members.threads import Crew, Load, create_topic, until

pytestmark = pytest.mark.integration

PARTITIONS = 12


@pytest.fixture
def crew(kafka):
    with Crew(kafka) as crew:
        yield crew


def assignor_of(crew):
    admin = KafkaAdminClient(bootstrap_servers=crew.address)
    try:
        group = admin.describe_groups([crew.group])[crew.group]
        return group["protocol_data"] if group["group_state"] == "Stable" else None
    finally:
        admin.close()


def restart_one_by_one(crew, topic, strategies):
    for old in list(crew.members):
        crew.leave(old)
        crew.join(topic, partition_assignment_strategy=strategies)
        until(lambda: crew.settled and crew.sizes == [4, 4, 4])


@pytest.mark.parametrize("old", ["range", "sticky"])
def test_two_rolling_restarts_from_eager_to_cooperative_never_assign_a_partition_twice(kafka, crew, old):
    topic = create_topic(kafka, PARTITIONS)
    with Load(kafka, topic, PARTITIONS) as load:
        for _ in range(3):
            crew.join(topic, partition_assignment_strategy=old)
        until(lambda: crew.settled and crew.sizes == [4, 4, 4])
        until(lambda: assignor_of(crew) == old)

        restart_one_by_one(crew, topic, ["cooperative-sticky", old])
        # All members list both and prefer the cooperative one, but still revoke everything before they join.
        until(lambda: assignor_of(crew) == "cooperative-sticky")
        fourth = crew.join(topic, partition_assignment_strategy=["cooperative-sticky", old])
        until(lambda: crew.settled and crew.sizes == [3, 3, 3, 3])
        crew.leave(fourth)
        until(lambda: crew.settled and crew.sizes == [4, 4, 4])

        restart_one_by_one(crew, topic, ["cooperative-sticky"])
        until(lambda: assignor_of(crew) == "cooperative-sticky")
        kept = [member.owned for member in crew.members]
        crew.join(topic, partition_assignment_strategy=["cooperative-sticky"])
        until(lambda: crew.settled and crew.sizes == [3, 3, 3, 3])
        load.stop()
        until(lambda: load.sent <= crew.ledger.consumed.keys())
    assert all(len(now.owned & before) == 3 for now, before in zip(crew.members, kept, strict=False))
    assert crew.ledger.doubled == []


def test_the_error_of_a_refused_member_names_the_strategies_of_each_member(kafka, crew):
    topic = create_topic(kafka, PARTITIONS)
    old = crew.join(topic, client_id="the-old-one", partition_assignment_strategy="range")
    until(lambda: len(old.owned) == PARTITIONS)
    refused = crew.join(topic, partition_assignment_strategy=["cooperative-sticky", "cooperative-failover"])
    until(lambda: refused.error is not None)
    crew.members.remove(refused)
    refused.consumer.close()
    assert isinstance(refused.error, InconsistentGroupProtocolError)
    text = str(refused.error)
    assert crew.group in text
    assert "this consumer offers cooperative-sticky, cooperative-failover" in text
    assert "the-old-one offers range" in text
    assert "list the old and the new one first" in text
