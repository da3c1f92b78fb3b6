"""The client libraries that a group's members may use, and the strategies that each library supports."""

import pytest

from rebalance_agent.advice.client_kinds import (
    Change,
    ClientKind,
    change_behind_gateway,
    change_to,
    clients_behind_gateways,
    possible_clients,
    usable,
)
from rebalance_agent.advice.replay.reported_clients import ReportedClient
from rebalance_agent.model.events import MemberSnapshot
from rebalance_agent.model.reported.member_software import ClientSoftware
from support.observer.fakes import generation_event

JAVA, GO, PYTHON, PYTHON_2, LIBRDKAFKA, AIOKAFKA, SARAMA, KAFKA_GO, KAFKAJS = ClientKind


def member(client_id="mine", user_data=None):
    return MemberSnapshot(f"{client_id}-1", None, client_id, "h", ("t",), {}, {}, user_data=user_data)


def possible(*members, assignor="range"):
    return possible_clients(generation_event(group="orders", assignor=assignor, members=members))


@pytest.mark.parametrize(
    ("client_id", "kind"),
    [
        ("consumer-orders-7", JAVA),
        ("app-3f0c-StreamThread-2-consumer", JAVA),
        ("rdkafka", LIBRDKAFKA),
        ("kafka-python-3.0.12", PYTHON),
        ("kafka-python-2.0.2", PYTHON_2),
        ("aiokafka-0.14.0", AIOKAFKA),
        ("kgo", GO),
        ("sarama", SARAMA),
        ("app@host (github.com/segmentio/kafka-go)", KAFKA_GO),
        ("kafkajs", KAFKAJS),
    ],
)
def test_a_default_client_id_names_the_library(client_id, kind):
    assert possible(member(client_id)) == ((kind,),)


@pytest.mark.parametrize(
    ("assignor", "excluded"),
    [
        ("range", {KAFKAJS}),
        ("sticky", {LIBRDKAFKA, KAFKA_GO, KAFKAJS}),
        ("cooperative-sticky", {PYTHON_2, AIOKAFKA, SARAMA, KAFKA_GO, KAFKAJS}),
        ("weighted-sticky", {JAVA, GO, PYTHON_2, SARAMA, KAFKA_GO, KAFKAJS}),
        ("cooperative-weighted-sticky", {JAVA, GO, PYTHON_2, AIOKAFKA, SARAMA, KAFKA_GO, KAFKAJS}),
        ("RoundRobinAssigner", set()),
    ],
)
def test_an_assignor_rules_out_the_libraries_without_it(assignor, excluded):
    (kinds,) = possible(member(), assignor=assignor)
    assert set(ClientKind) - set(kinds) == excluded


def test_user_data_with_only_a_generation_is_not_from_librdkafka():
    (kinds,) = possible(member(user_data=bytes(4)), assignor="cooperative-sticky")
    assert kinds == (JAVA, PYTHON)


def test_a_client_id_of_another_group_identifies_no_library():
    assert len(possible(member("consumer-payments-1"))[0]) > 1


def test_a_mixed_group_has_each_of_its_client_kinds_once():
    assert possible(member("rdkafka"), member("kgo"), member("rdkafka")) == ((GO,), (LIBRDKAFKA,))


CONFLUENT = ClientSoftware("confluent-kafka-python", "2.16.1-rdkafka-2.16.0")


def found(client, assignor="range", client_id="mine"):
    """The libraries of members that run the assignor themselves, and of those for which a gateway runs it."""
    one = member(client_id)
    event, reported = generation_event(group="orders", assignor=assignor, members=(one,)), {one.member_id: client}
    return possible_clients(event, reported), clients_behind_gateways(event, reported)


@pytest.mark.parametrize(
    ("name", "version", "kind"),
    [
        ("confluent-kafka-python", "2.16.1-rdkafka-2.16.0", LIBRDKAFKA),
        ("librdkafka", "2.16.0", LIBRDKAFKA),
        ("apache-kafka-java", "4.3.0", JAVA),
        ("kgo", "1.22.0", GO),
        ("kafka-python", "3.0.12", PYTHON),
        ("kafka-python", "2.2.0", PYTHON_2),
        ("aiokafka", "0.14.0", AIOKAFKA),
        ("sarama", "1.45.0", SARAMA),
    ],
)
def test_the_reported_library_decides_even_against_a_client_id(name, version, kind):
    client = ReportedClient(ClientSoftware(name, version), instrumented=True)
    assert found(client, client_id="kafkajs") == (((kind,),), ())


def test_a_reported_library_that_is_not_known_here_rules_out_nothing():
    assert found(ReportedClient(ClientSoftware("theirs"), behind_gateway=True)) == (possible(member()), ())


@pytest.mark.parametrize(
    ("assignor", "software", "instrumented", "gateway_runs"),
    [
        ("weighted-sticky", CONFLUENT, False, True),
        ("sticky", CONFLUENT, False, True),  # librdkafka has no such assignor
        ("range", CONFLUENT, False, False),
        ("cooperative-sticky", CONFLUENT, False, False),
        ("theirs", CONFLUENT, False, False),
        # An instrumented client of a library that accepts other assignors runs the strategy itself.
        ("weighted-sticky", CONFLUENT, True, True),
        ("weighted-sticky", ClientSoftware("kafka-python", "3.0.12"), True, False),
        ("weighted-sticky", ClientSoftware("kafka-python", "3.0.12"), False, True),
        ("weighted-sticky", None, True, False),
    ],
)
def test_a_gateway_runs_the_strategy_for_clients_that_do_not_have_it(assignor, software, instrumented, gateway_runs):
    own, behind = found(ReportedClient(software, instrumented, behind_gateway=True), assignor)
    assert (len(own), len(behind)) == ((0, 1) if gateway_runs else (1, 0))


def test_clients_of_a_gateway_that_name_no_library_may_be_any_of_the_same_protocol():
    client = ReportedClient(behind_gateway=True)
    assert found(client, "weighted-sticky")[1] == (tuple(ClientKind),)
    assert found(client, "cooperative-weighted-sticky")[1] == ((JAVA, GO, PYTHON, LIBRDKAFKA),)


@pytest.mark.parametrize(
    ("kind", "old", "new", "expected"),
    [
        (LIBRDKAFKA, "weighted-sticky", "cooperative-weighted-sticky", Change.STOP),
        (PYTHON, "weighted-sticky", "cooperative-weighted-sticky", Change.STOP),
        (JAVA, "weighted-sticky", "cooperative-weighted-sticky", Change.ROLLING),
        (SARAMA, "weighted-sticky", "cooperative-weighted-sticky", Change.IMPOSSIBLE),
        (KAFKAJS, "weighted-sticky", "cooperative-weighted-sticky", Change.IMPOSSIBLE),
        (LIBRDKAFKA, "shuffled-roundrobin", "sticky", Change.RULE),
        (KAFKAJS, "shuffled-roundrobin", "sticky", Change.RULE),
        (LIBRDKAFKA, "cooperative-weighted-sticky", "weighted-sticky", Change.STOP),
    ],
)
def test_a_client_behind_a_gateway_changes_only_with_its_protocol(kind, old, new, expected):
    assert change_behind_gateway(kind, old, new) is expected
    assert usable((), old, new, ((kind,),)) is (expected is not Change.IMPOSSIBLE)


@pytest.mark.parametrize(
    ("kind", "old", "new", "expected"),
    [
        (LIBRDKAFKA, "cooperative-sticky", "range", Change.STOP),
        (JAVA, "range", "cooperative-sticky", Change.ROLLING),
        (GO, "range", "cooperative-sticky", Change.ROLLING),
        (PYTHON, "range", "cooperative-sticky", Change.ROLLING),
        (PYTHON_2, "range", "cooperative-sticky", Change.IMPOSSIBLE),
        (PYTHON_2, "range", "sticky", Change.ROLLING),
        (AIOKAFKA, "range", "cooperative-sticky", Change.IMPOSSIBLE),
        (AIOKAFKA, "range", "sticky", Change.ROLLING),
        (SARAMA, "range", "cooperative-sticky", Change.IMPOSSIBLE),
        (KAFKA_GO, "range", "sticky", Change.IMPOSSIBLE),
        (LIBRDKAFKA, "range", "cooperative-sticky", Change.STOP),
        (LIBRDKAFKA, "range", "roundrobin", Change.ROLLING),
        (LIBRDKAFKA, "range", "sticky", Change.IMPOSSIBLE),
        # Strategies of this package need pluggable assignors, its adapter, or its gateway.
        (JAVA, "range", "shuffled-roundrobin", Change.IMPOSSIBLE),
        (LIBRDKAFKA, "range", "shuffled-roundrobin", Change.IMPOSSIBLE),
        (PYTHON, "range", "shuffled-roundrobin", Change.ROLLING),
        (AIOKAFKA, "range", "shuffled-roundrobin", Change.ROLLING),
        (AIOKAFKA, "weighted-sticky", "cooperative-weighted-sticky", Change.IMPOSSIBLE),
        (PYTHON, "weighted-sticky", "cooperative-weighted-sticky", Change.ROLLING),
        (LIBRDKAFKA, "weighted-sticky", "cooperative-weighted-sticky", Change.ROLLING),
    ],
)
def test_each_library_has_its_own_way_to_change_the_strategy(kind, old, new, expected):
    assert change_to(kind, old, new) is expected


def test_a_group_can_change_its_strategy_if_each_member_possibly_can():
    assert usable(((JAVA,), (LIBRDKAFKA, AIOKAFKA)), "range", "cooperative-sticky")
    assert not usable(((JAVA,), (AIOKAFKA,)), "range", "cooperative-sticky")
    assert usable((), "range", "cooperative-sticky")
