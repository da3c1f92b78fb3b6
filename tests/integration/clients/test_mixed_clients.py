"""Java, librdkafka and Python members in one group: every record is consumed once, with any leader."""

from __future__ import annotations

import contextlib

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from support.members.foreign_members import JavaMember, LibrdkafkaMember
from support.members.threads import PATIENCE, Crew, create_topic, until

pytestmark = pytest.mark.integration

PARTITIONS = 9
KAFKAS_NAME = {"range": "RangeAssignor", "cooperative-sticky": "CooperativeStickyAssignor", "sticky": "StickyAssignor"}
CLIENTS = ("python", "java", "librdkafka")


class Mixed:
    """A group with one member of each client; ``crew`` has the Python one."""

    def __init__(self, kafka, crew, *strategies):
        self.crew = crew
        self.topic = create_topic(kafka, PARTITIONS)
        self._kafka = kafka
        self._strategies = list(strategies)
        self._admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        self._ends = contextlib.ExitStack()
        self._leaving = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._ends.close()

    def join(self, client):
        if client == "python":
            member = self.crew.join(
                self.topic,
                partition_assignment_strategy=self._strategies,
                client_id="python",
                metadata_max_age_ms=1_000,
            )
            self._leaving[client] = lambda: self.crew.leave(member)
            return
        kind, names = {
            "java": (JavaMember, [KAFKAS_NAME[each] for each in self._strategies]),
            "librdkafka": (LibrdkafkaMember, self._strategies),
        }[client]
        member = kind(self._kafka, self.crew.group, self.topic, names, self.crew.ledger)
        closing = contextlib.ExitStack()
        closing.callback(member.close)
        self._ends.push(closing)
        self._leaving[client] = closing.close

    def leave(self, client):
        self._leaving.pop(client)()

    def sizes(self):
        """Client -> partitions from the coordinator, if the group is stable and each partition has one owner."""
        group = self._admin.describe_consumer_groups([self.crew.group])[self.crew.group].result(PATIENCE)
        if group.state.name != "STABLE":
            return None
        given = {member.client_id: member.assignment.topic_partitions for member in group.members}
        everything = [each.partition for partitions in given.values() for each in partitions]
        if sorted(everything) != list(range(PARTITIONS)):
            return None
        return {client: len(partitions) for client, partitions in given.items()}

    def consumes_once(self):
        """Produce records, and assert that exactly one member consumes each."""
        sent = []

        def delivered(error, message):
            assert error is None
            sent.append((message.topic(), message.partition(), message.offset()))

        for number in range(5 * PARTITIONS):
            self._producer.produce(self.topic, b"record", partition=number % PARTITIONS, on_delivery=delivered)
        assert self._producer.flush(PATIENCE) == 0
        consumed = self.crew.ledger.consumed
        until(lambda: all(consumed[record] for record in sent))
        return all(consumed[record] == 1 for record in sent)

    def leads(self):
        return self.crew.members[0].consumer._coordinator._is_leader


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
@pytest.mark.parametrize("first", CLIENTS)
def test_members_of_three_clients_share_a_group_with_any_leader(kafka, strategy, first):
    with Crew(kafka) as crew, Mixed(kafka, crew, strategy) as group:
        group.join(first)
        until(lambda: group.sizes() == {first: PARTITIONS})
        for client in CLIENTS:
            if client != first:
                group.join(client)
        until(lambda: group.sizes() == dict.fromkeys(CLIENTS, 3))
        assert group.leads() == (first == "python")
        until(lambda: crew.sizes == [3])
        assert group.consumes_once()
        group.leave("librdkafka")
        until(lambda: sorted((group.sizes() or {}).values()) == [4, 5])
        assert group.consumes_once()
        assert crew.ledger.doubled == []


@pytest.mark.parametrize("strategies", [["sticky"], ["cooperative-sticky", "range"]], ids=" ".join)
@pytest.mark.parametrize(("first", "second"), [("java", "python"), ("python", "java")])
def test_java_and_python_share_strategies_that_librdkafka_lacks_with_any_leader(kafka, strategies, first, second):
    # With both protocols in one list, Java's consumers and ours revoke everything before they join.
    with Crew(kafka) as crew, Mixed(kafka, crew, *strategies) as group:
        group.join(first)
        until(lambda: group.sizes() == {first: PARTITIONS})
        group.join(second)
        until(lambda: sorted((group.sizes() or {}).values()) == [4, 5])
        assert group.leads() == (first == "python")
        assert group.consumes_once()
        group.leave("java")
        until(lambda: crew.sizes == [PARTITIONS])
        assert group.consumes_once()
        assert crew.ledger.doubled == []
