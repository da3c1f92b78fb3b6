"""A member's assignment that ends librdkafka's process: no observer and no consumer that describes its group ends."""

from __future__ import annotations

import uuid

import pytest

from rebalance_agent.clients.confluent_kafka.inconsistent_protocol import why_refused
from rebalance_agent.cluster.admin_client import Cluster
from support.migration.members import Broker, ClassicMember, stable

pytestmark = pytest.mark.integration

ONE_BYTE = b"\0"


@pytest.fixture
def fatal_and_ordinary(kafka):
    """The names of two groups of one member; of the first one, librdkafka cannot read the member's assignment."""
    broker = Broker(kafka.bootstrap_servers)
    members = [
        ClassicMember(f"{name}-{uuid.uuid4().hex[:8]}", ("t",), session_timeout_ms=30_000)
        for name in ("fatal", "ordinary")
    ]
    stable(broker, members[:1], assignment_data={0: (ONE_BYTE,)})
    stable(broker, members[1:], {0: {"t": (0,)}})
    yield [member.group for member in members]
    for member in members:
        member.leave(broker)
    broker.close()


def test_a_one_byte_assignment_ends_no_observer_and_others_are_described(kafka, fatal_and_ordinary):
    fatal, ordinary = fatal_and_ordinary
    cluster = Cluster({"bootstrap.servers": kafka.bootstrap_servers, "log_level": "0"})
    [described] = cluster.describe_groups([fatal, ordinary])
    assert described.group == ordinary
    assert [member.assigned for member in described.members] == [{"t": (0,)}]
    assert cluster.absent_groups([fatal, ordinary, "no-such-group"]) == {"no-such-group"}


def test_a_one_byte_assignment_ends_no_consumer_that_explains_its_refusal(kafka, fatal_and_ordinary):
    fatal, _ = fatal_and_ordinary
    text = why_refused({"bootstrap.servers": kafka.bootstrap_servers}, fatal, ["sticky"])
    assert "app offers range, so this consumer must list range." in text
