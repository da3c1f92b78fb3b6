"""Unmodified clients push their own metrics to the gateway in front of a real broker without telemetry."""

from __future__ import annotations

import itertools

import pytest
from confluent_kafka import Producer

from rebalance_agent.model.events import Callback
from support.gateway.gatewaying import gatewaying
from support.gateway.running import PATIENCE_S, Aiokafka, KafkaPython, Plain, gateway
from support.members.member_lines import java_member
from support.observer.observing import create_topic, eventually, observing
from support.observer.scrapes import families
from support.otlp.collector import Collector

pytestmark = pytest.mark.integration

NUMBER = itertools.count(1)
PREFIX = "kafka_rebalance_member_client_"
INTERVAL_S = 1
LIMIT_S = 12
"""Poll limit in seconds. A push and a scrape take two seconds, which must fit into half of it."""

OF_THE_CLIENT = {"client_id": "app", "client_software_name": "confluent-kafka-python"}
KNOWN = {"info", "poll_limit_seconds"}
BOTH = {"rebalance_seconds", "rebalancing_seconds_total", "commit_seconds", "poll_idle_ratio"}
JAVA_ALONE = {"failed_rebalances_total", "callback_seconds", "poll_interval_seconds", "last_poll_age_seconds"}


@pytest.fixture
def topic(kafka):
    name = f"client-telemetry-{next(NUMBER)}"
    create_topic(kafka.bootstrap_servers, name, 4)
    return name


def series(through, client_id):
    """Names of the client's series, after `PREFIX`, with their samples."""
    found = {}
    for name, family in families(through.telemetry.text()).items():
        for sample in family.samples:
            if sample.labels["client_id"] == client_id:
                found.setdefault(name.removeprefix(PREFIX), []).append(sample)
    return found


def counted(through, name, **labels):
    samples = families(through.counts.text())[f"rebalance_agent_gateway_telemetry_{name}"].samples
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def connections(through):
    return families(through.counts.text())["rebalance_agent_gateway_connections_opened_total"].samples[0].value


def check_pushes_until_it_ends(through, group, member, client_id, library, expected):
    """Series of a client appear, are updated, and end with it; its connections are unaffected."""
    eventually(
        lambda: expected <= series(through, client_id).keys(), waiting_for=lambda: series(through, client_id).keys()
    )
    found, opened, accepted = series(through, client_id), connections(through), counted(through, "pushes_total")
    assert found.keys() == {*expected, *KNOWN}
    assert found["poll_limit_seconds"][0].value == 300, "max.poll.interval.ms"
    for sample in itertools.chain(*found.values()):
        assert (sample.labels["consumergroup"], sample.labels["host"]) == (group, "127.0.0.1")
    (info,) = found["info"]
    assert library in (info.labels["software"], info.labels["version"].partition("-rdkafka-")[0])
    eventually(lambda: counted(through, "pushes_total") >= accepted + 3, PATIENCE_S)
    assert connections(through) == opened, "it does not reconnect"
    reported = eventually(lambda: through.reported(Callback.ASSIGNED))[0].software
    assert (reported.name, reported.version) == (info.labels["software"], info.labels["version"])
    member.close()
    (left,) = eventually(lambda: through.reported(Callback.LEFT))
    assert left.client_metrics.rebalance_seconds is not None
    assert 0 <= left.client_metrics.idle_ratio <= 1
    eventually(lambda: not series(through, client_id), PATIENCE_S)
    assert counted(through, "ends_total", end="terminated") == 1
    assert counted(through, "ends_total", end="silent") == 0
    assert counted(through, "pushes_total") == counted(through, "pushes_total", outcome="accepted")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_librdkafka_pushes_until_it_closes(kafka, topic, protocol):
    group = f"group-of-{topic}"
    properties = {"client.id": "app", "group.protocol": protocol}
    if protocol == "consumer":
        properties |= {"session.timeout.ms": None, "heartbeat.interval.ms": None}
    with gateway(kafka.bootstrap_servers, telemetry_s=INTERVAL_S) as through:
        member = Plain(through.bootstrap, group, topic, **properties)
        eventually(lambda: len(member.owned) == 4, PATIENCE_S)
        check_pushes_until_it_ends(through, group, member, "app", "confluent-kafka-python", BOTH)


def test_java_pushes_until_it_closes(kafka, topic):
    group = f"group-of-{topic}"
    with gateway(kafka.bootstrap_servers, telemetry_s=INTERVAL_S) as through:
        member = java_member(through.bootstrap, group, topic, "app")
        check_pushes_until_it_ends(through, group, member, "app", "apache-kafka-java", BOTH | JAVA_ALONE)


def test_pushes_go_to_the_collector_with_the_names_of_the_client(kafka, topic, monkeypatch):
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", f"{collector.url}/v1/metrics")
        settings = {"gateway_telemetry": True, "gateway_telemetry_seconds": INTERVAL_S, "gateway_telemetry_pass": True}
        with gatewaying(kafka.bootstrap_servers, **settings) as through:
            member = Plain(through.bootstrap, f"group-of-{topic}", topic, **{"client.id": "app"})
            try:
                collector.wait_for(lambda collector: any(map(OF_THE_CLIENT.items().__le__, names(collector))))
                assert any(name.startswith("org.apache.kafka.consumer.") for name in collector.metrics())
            finally:
                member.close()


def names(collector):
    return [attributes.items() for attributes in collector.resources()]


def test_a_killed_client_has_no_series(kafka, topic):
    with gateway(kafka.bootstrap_servers, telemetry_s=INTERVAL_S) as through:
        member = java_member(through.bootstrap, f"group-of-{topic}", topic, "app")
        eventually(lambda: "rebalance_seconds" in series(through, "app"), PATIENCE_S)
        member.kill()
        eventually(lambda: not series(through, "app"), PATIENCE_S)
        assert counted(through, "ends_total", end="silent") == 1
        assert counted(through, "ends_total", end="terminated") == 0


def test_a_java_consumer_that_stops_polling_shows_this_before_it_leaves(kafka, topic):
    """Another thread of the client pushes, and leaves the group at the limit."""
    properties = {"max.poll.interval.ms": f"{LIMIT_S * 1000}", "session.timeout.ms": "6000"}
    with gateway(kafka.bootstrap_servers, telemetry_s=INTERVAL_S) as through:
        member = java_member(through.bootstrap, f"group-of-{topic}", topic, "app", **properties)
        try:
            eventually(lambda: "last_poll_age_seconds" in series(through, "app"))
            member.hold()
            eventually(lambda: series(through, "app")["last_poll_age_seconds"][0].value >= LIMIT_S / 2)
            assert series(through, "app")["poll_limit_seconds"][0].value == LIMIT_S
            assert not through.reported(Callback.LEFT)
            eventually(lambda: through.reported(Callback.LEFT))
            (left,) = through.reported(Callback.LEFT)
            assert "poll timeout" in left.reason
            assert LIMIT_S / 2 <= left.client_metrics.last_poll_seconds <= LIMIT_S + INTERVAL_S
        finally:
            member.close()


def test_clients_without_telemetry_and_producers_work_as_before(kafka, topic):
    """kafka-python reports its library, aiokafka does not. The producer pushes, but is in no group."""
    with gateway(kafka.bootstrap_servers, telemetry_s=INTERVAL_S) as through:
        producer = Producer({"bootstrap.servers": through.bootstrap, "client.id": "producer", "log_level": 0})
        members = [
            kind(through.bootstrap, f"group-of-{topic}", topic, kind.__name__) for kind in (KafkaPython, Aiokafka)
        ]
        try:
            eventually(lambda: series(through, "KafkaPython"), PATIENCE_S)
            producer.produce(topic, b"x")
            assert producer.flush(PATIENCE_S) == 0
            eventually(lambda: counted(through, "pushes_total", outcome="accepted") >= 2, PATIENCE_S)
            (info,) = series(through, "KafkaPython")["info"]
            assert info.labels["software"] == "kafka-python"
            assert series(through, "KafkaPython").keys() == KNOWN
            assert series(through, "producer") == {}
            assert "info" not in series(through, "Aiokafka")

            def named():
                reported = through.reported(Callback.ASSIGNED)
                return {each.client_id: each.software and each.software.name for each in reported}

            expected = {"KafkaPython": "kafka-python", "Aiokafka": None}
            eventually(lambda: named() == expected, PATIENCE_S, waiting_for=named)
        finally:
            for each in members:
                each.close()


def test_an_observer_shows_the_library_and_the_values_of_each_member_behind_a_gateway(kafka, topic):
    published, group = f"{topic}-events", f"group-of-{topic}"
    create_topic(kafka.bootstrap_servers, published, 1)
    with (
        observing(kafka.bootstrap_servers, events_topic=published) as observer,
        gatewaying(
            kafka.bootstrap_servers,
            events_topic=published,
            gateway_telemetry=True,
            gateway_telemetry_seconds=INTERVAL_S,
        ) as through,
    ):
        beside = Plain(kafka.bootstrap_servers, group, topic, **{"client.id": "beside"})
        behind = Plain(through.bootstrap, group, topic, **{"client.id": "behind"})

        def libraries():
            members = observer.detail(group).get("members", ())
            return {each["client_id"]: each.get("software", {}).get("name") for each in members}

        expected = {"beside": None, "behind": "confluent-kafka-python"}
        try:
            eventually(lambda: libraries() == expected, PATIENCE_S, waiting_for=libraries)
            assert "confluent-kafka-python" in observer.get(f"/group?name={group}")[1]
            labels = {"consumergroup": group, "client_id": "behind", "host": "127.0.0.1"}
            eventually(lambda: through.metric(f"{PREFIX}poll_idle_ratio", **labels) is not None)
            behind.close()
            eventually(
                lambda: (
                    "The client of behind measured, up to its last push to the gateway: "
                    in observer.get(f"/group?name={group}")[1]
                )
            )
        finally:
            for each in (beside, behind):
                each.close()


def test_a_gateway_process_exports_client_metrics_if_configured(kafka, topic):
    labels = {"consumergroup": f"group-of-{topic}", "client_id": "app", "host": "127.0.0.1"}
    with gatewaying(kafka.bootstrap_servers, gateway_telemetry=True, gateway_telemetry_seconds=1) as watched:
        member = Plain(watched.bootstrap, labels["consumergroup"], topic, **{"client.id": "app"})
        try:
            eventually(lambda: watched.metric(f"{PREFIX}poll_idle_ratio", **labels) is not None)
            assert watched.metric(f"{PREFIX}poll_limit_seconds", **labels) == 300
            assert watched.metric("rebalance_agent_gateway_telemetry_pushes_total", outcome="accepted") >= 1
        finally:
            member.close()


def test_without_the_setting_clients_get_no_subscription(kafka, topic):
    with gateway(kafka.bootstrap_servers) as through:
        member = Plain(through.bootstrap, f"group-of-{topic}", topic, **{"client.id": "app"})
        try:
            eventually(lambda: len(member.owned) == 4, PATIENCE_S)
            assert series(through, "app").keys() == KNOWN
            assert counted(through, "pushes_total") == 0
        finally:
            member.close()
