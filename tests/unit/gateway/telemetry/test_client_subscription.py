"""Telemetry subscriptions by client library."""

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.gateway.telemetry.client_subscription import metric_prefixes, subscription_of
from rebalance_agent.gateway.telemetry.client_values import CLIENT_VALUES, REBALANCES
from rebalance_agent.metrics.member_client_rows import CLIENT_INFO, CLIENT_POLL_LIMIT, MEMBER_CLIENT_ROWS
from rebalance_agent.model.reported.member_software import ClientSoftware
from support.telemetry.requests import JAVA, LIBRDKAFKA

INTERVAL_MS = 15_000


def asked(name, version):
    return subscription_of(ClientSoftware(name, version), INTERVAL_MS)


@pytest.mark.parametrize(
    "software",
    [
        LIBRDKAFKA,
        ("librdkafka", "2.10.0"),
        ("confluent-kafka-go", "v2.12.0-librdkafka-2.12.0"),
        ("confluent-kafka-dotnet", "2.6.1"),
        ("confluent-kafka-javascript", "1.0.0-librdkafka-2.8.0"),
        ("librdkafka", "12.5.0"),
    ],
)
def test_librdkafka_gets_a_common_prefix_of_its_metrics(software):
    assert asked(*software).metrics == ("org.apache.kafka.",)


def test_java_gets_only_metrics_that_the_gateway_reads():
    assert set(asked(*JAVA).metrics) == {*CLIENT_VALUES, REBALANCES}


def test_java_is_asked_for_more_metrics_by_their_prefixes():
    more = metric_prefixes("org.apache.kafka.consumer.fetch., org.apache.kafka.producer.")
    given = subscription_of(ClientSoftware(*JAVA), INTERVAL_MS, more)
    assert set(given.metrics) == {
        *asked(*JAVA).metrics,
        "org.apache.kafka.consumer.fetch.",
        "org.apache.kafka.producer.",
    }
    assert given.subscription_id != asked(*JAVA).subscription_id
    assert subscription_of(ClientSoftware(*LIBRDKAFKA), INTERVAL_MS, more) == asked(*LIBRDKAFKA)


@pytest.mark.parametrize("text", ["a,*", "kafka consumer", ".a", ",".join(f"a{number}" for number in range(51))])
def test_wrong_prefixes_are_refused(text):
    with pytest.raises(InvalidInputError):
        metric_prefixes(text)


@pytest.mark.parametrize(
    "software",
    [
        ("librdkafka", "2.5.0"),
        ("librdkafka", "2.5.0-RC1"),
        ("confluent-kafka-python", "2.5.0-librdkafka-2.5.0"),
        ("confluent-kafka-go", "v2.6.0-librdkafka-2.5.0"),
    ],
)
def test_versions_of_librdkafka_that_would_abort_get_no_subscription(software):
    assert asked(*software) is None


@pytest.mark.parametrize(
    "software",
    [("", ""), ("librdkafka", ""), ("librdkafka", "master"), ("kafka-python", "3.0.0"), ("sarama", "1.43.0")],
)
def test_unknown_clients_get_no_subscription(software):
    assert asked(*software) is None


def test_the_id_is_the_same_after_a_restart_and_another_one_for_other_settings():
    java, librdkafka = asked(*JAVA), asked(*LIBRDKAFKA)
    assert java.subscription_id == asked(*JAVA).subscription_id
    others = {librdkafka.subscription_id, subscription_of(ClientSoftware(*JAVA), 1_000).subscription_id}
    assert len({java.subscription_id, *others}) == 3
    assert all(-(2**31) <= each < 2**31 for each in others)


def test_each_row_has_a_client_metric_for_each_of_its_label_values():
    made = {(value.row, value.labels) for value in CLIENT_VALUES.values()}
    assert {row for row, _ in made} == set(MEMBER_CLIENT_ROWS) - {CLIENT_INFO, CLIENT_POLL_LIMIT}
    for row in MEMBER_CLIENT_ROWS[2:]:
        for number, (label, closed) in enumerate(row.values.items()):
            assert {labels[number] for other, labels in made if other is row} == set(closed), label
        assert len({value.merge for value in CLIENT_VALUES.values() if value.row is row}) == 1, (
            "label values of one series"
        )
