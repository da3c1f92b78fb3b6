"""A sidecar between real consumers and the observer: members' reports turn a bound into a measured stall."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import uuid

import pytest

from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Callback, MemberEvent
from rebalance_agent.model.group_event import process_event_id
from support.members.instrumented import Member
from support.observer.observing import beside, create_topic, events, eventually, http, observing

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),  # importing kafka-python warns
]

SLOW_S = 1.0
PATIENCE_S = 60


@pytest.fixture
def names():
    unique = uuid.uuid4().hex[:8]
    return f"topic-{unique}", f"group-{unique}", f"events-{unique}"


def test_a_stall_is_exact_once_its_members_report(kafka, names):
    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 4)

    def shown(name, **labels):
        return observer.metric(name, consumergroup=group, **labels)

    with (
        observing(bootstrap, events_topic=published, settle_seconds=3) as observer,
        beside(bootstrap, events_topic=published) as sidecar,
    ):
        url = f"http://127.0.0.1:{sidecar.role.events_port}"
        first = Member(bootstrap, group, topic, url, revoking_s=SLOW_S)
        eventually(lambda: shown("kafka_rebalance_members") == 1)
        eventually(lambda: shown("kafka_rebalance_partitions_unassigned") == 0)
        second = Member(bootstrap, group, topic, url)

        def measured():
            # kafka-python joins before it has metadata: a join may cause two rebalances, and each waits for the slow
            # member.
            stalls = [each["stall"] for each in events(bootstrap, published, group=group) if each.get("stall")]
            exact = [stall["seconds"] for stall in stalls if stall["basis"] == "exact"]
            return [seconds for seconds in exact if SLOW_S <= seconds < SLOW_S + 1]

        eventually(measured)
        # The first scrape that has the series shows it at 0.
        eventually(lambda: shown("kafka_rebalance_stall_seconds_count", basis="exact") >= 1)
        revoked = next(
            each
            for each in events(bootstrap, published, group=group)
            if each["kind"] == "member" and each["callback"] == "revoked" and each["partitions"]
        )
        assert revoked["cluster_id"]
        sidecar.metrics()  # the scrape at 0
        assert (
            sidecar.metric("kafka_rebalance_member_callback_seconds_count", consumergroup=group, callback="revoked")
            >= 1
        )
        assert sidecar.metric("rebalance_agent_events_dropped_total", where="kafka") == 0
        second.close()
        first.close()


PROGRAMS = {
    "kafka-python": """
from rebalance_agent.clients.kafka_python import KafkaConsumer
bootstrap, group, topic, url = sys.argv[1:]
consumer = KafkaConsumer(
    topic, bootstrap_servers=bootstrap, group_id=group, client_id="suspended", session_timeout_ms=6_000,
    heartbeat_interval_ms=200, events_url=url,
)
while True:
    consumer.poll(50)
""",
    "confluent-kafka": """
from rebalance_agent.clients.confluent_kafka import Consumer
bootstrap, group, topic, url = sys.argv[1:]
settings = {
    "bootstrap.servers": bootstrap, "group.id": group, "client.id": "suspended", "session.timeout.ms": 6_000,
    "heartbeat.interval.ms": 200,
}
consumer = Consumer(settings, events_url=url)
consumer.subscribe([topic])
while True:
    consumer.poll(0.05)
""",
}
"""A member that is removed after 6 s of silence, the shortest session timeout that brokers allow by default."""


@contextlib.contextmanager
def process(program, *arguments):
    """A program in its own process, which can be suspended."""
    with subprocess.Popen([sys.executable, "-c", f"import sys\n{program}", *arguments]) as child:
        try:
            yield child
        finally:
            child.kill()


def times_of_others(bootstrap, published, group):
    """Times at which generations without the suspended member assigned partitions (epoch ms)."""
    return [
        each["timestamp_ms"]
        for each in events(bootstrap, published, group=group)
        if each["kind"] == "generation"
        and {"suspended"}.isdisjoint(member["client_id"] for member in each["members"])
        and any(member["assigned"] for member in each["members"])
    ]


@pytest.mark.parametrize("client", PROGRAMS)
def test_a_resumed_member_was_a_second_owner(kafka, names, client):
    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 4)

    def shown(name, **labels):
        return observer.metric(f"kafka_rebalance_{name}", consumergroup=group, **labels)

    with (
        observing(bootstrap, events_topic=published) as observer,
        beside(bootstrap, events_topic=published) as sidecar,
    ):
        url = f"http://127.0.0.1:{sidecar.role.events_port}"
        with process(PROGRAMS[client], bootstrap, group, topic, url) as suspended:
            eventually(lambda: shown("members") == 1 and shown("partitions_unassigned") == 0)
            eventually(lambda: shown("doubly_owned_partition_seconds_total") == 0, waiting_for="a report")
            suspended.send_signal(signal.SIGSTOP)
            eventually(lambda: shown("members") == 0)
            others = [Member(bootstrap, group, topic, url)]
            eventually(lambda: shown("members") == 1 and shown("partitions_unassigned") == 0)
            others.append(Member(bootstrap, group, topic, url))
            eventually(lambda: shown("members") == 2)
            assert shown("doubly_owned_partition_seconds_total") == 0, "no report shows it yet"
            suspended.send_signal(signal.SIGCONT)
            seconds = eventually(lambda: shown("doubly_owned_partition_seconds_total"))
        former = json.loads(observer.get(f"/api/v1/groups/{group}")[1])["summary"]["former_owner"]
        assert (former["client_id"], former["partitions"]) == ("suspended", 4)
        # A generation's event is published when its rebalance has settled.
        given_ms = min(
            eventually(lambda: times_of_others(bootstrap, published, group), waiting_for="the others' events")
        )
        for other in others:
            other.close()
    (stopped_ms,) = {
        each["started_ms"]
        for each in events(bootstrap, published, group=group)
        if each["kind"] == "member"
        and each["member_id"] == former["member_id"]
        and each["callback"] in ("lost", "revoked")
        and each["partitions"]
    }
    assert former["until_ms"] == stopped_ms
    assert 0 < seconds <= 4 * (stopped_ms - given_ms) / 1000


def _event(group, sequence=1):
    return MemberEvent(
        event_id=process_event_id("member", "p", sequence),
        group=group,
        timestamp_ms=2_000,
        callback=Callback.REVOKED,
        client_id="c",
        member_id="m",
        generation=1,
        started_ms=1_000,
        partitions={"t": (0, 1)},
        process="p",
        sequence=sequence,
    )


def test_posted_events_are_exported_completed_and_published(kafka, names, monkeypatch):
    bootstrap, (_, group, published) = kafka.bootstrap_servers, names
    monkeypatch.setenv("POD_NAME", "orders-1")
    monkeypatch.setenv("IMAGE", "orders:7")
    with beside(bootstrap, events_topic=published) as sidecar:
        url = f"http://127.0.0.1:{sidecar.role.events_port}/v1/events"
        status, text = http(url, json_line(_event(group, 1)) + b"\n" + json_line(_event(group, 2)))
        assert (status, json.loads(text)) == (200, {"accepted": 2})
        assert http(url, b"{}")[0] == 400
        eventually(lambda: sidecar.metric("rebalance_agent_events_published_total", kind="member", sink="kafka") == 2)
        assert sidecar.metric("kafka_rebalance_member_revoked_total", consumergroup=group, client_id="c") == 4
        assert sidecar.metric("rebalance_agent_requests_rejected_total", status="400") == 1
        found = events(bootstrap, published, group=group)
        assert [each["sequence"] for each in found] == [1, 2]
        assert {each["where"]["pod"] for each in found} == {"orders-1"}
        assert all(each["cluster_id"] for each in found)


def test_events_accepted_just_before_the_end_are_published(kafka, names):
    bootstrap, (_, group, published) = kafka.bootstrap_servers, names
    with beside(
        bootstrap, events_topic=published, kafka={"bootstrap.servers": bootstrap, "linger.ms": "60000"}
    ) as sidecar:
        assert http(f"http://127.0.0.1:{sidecar.role.events_port}/v1/events", json_line(_event(group)))[0] == 200
        assert sidecar.metric("rebalance_agent_events_published_total", kind="member", sink="kafka") == 0
    assert len(events(bootstrap, published, group=group)) == 1


def test_without_a_cluster_a_sidecar_only_exports_and_is_ready():
    with beside(None) as sidecar:
        assert http(f"http://127.0.0.1:{sidecar.role.events_port}/v1/events", json_line(_event("g")))[0] == 200
        scrapes = [
            sidecar.metric("kafka_rebalance_member_revoked_total", consumergroup="g", client_id="c") for _ in range(2)
        ]
        assert scrapes == [0, 2], "a counter that first appears with a value has no increase"
        assert sidecar.metric("rebalance_agent_configured") == 0


def test_ctrl_c_ends_a_sidecar_with_zero_even_without_brokers():
    addresses = ["--listen", "127.0.0.1:0", "--events-listen", "127.0.0.1:0"]
    command = [sys.executable, "-m", "rebalance_agent.cli.main", "sidecar", "--bootstrap-servers", "127.0.0.1:1"]
    with subprocess.Popen([*command, *addresses], stderr=subprocess.PIPE, text=True) as process:
        assert any('"listening"' in line for line in iter(process.stderr.readline, ""))
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert "Traceback" not in rest


@pytest.mark.parametrize("through_a_topic", [True, False])
def test_without_kafka_a_sidecar_posts_events_to_the_observer(kafka, names, monkeypatch, through_a_topic):
    bootstrap, (_, group, published) = kafka.bootstrap_servers, names
    topic = published if through_a_topic else ""
    monkeypatch.setenv("POD_NAME", "orders-1")
    with observing(bootstrap, events_topic=topic, events_listen="127.0.0.1:0") as observer:
        webhook = f"http://127.0.0.1:{observer.role.events_port}/v1/events"
        assert http(webhook, b"{}")[0] == 400
        assert observer.metric("rebalance_agent_requests_rejected_total", status="400") == 1
        with beside(None, events_webhook=webhook) as sidecar:
            assert http(f"http://127.0.0.1:{sidecar.role.events_port}/v1/events", json_line(_event(group)))[0] == 200
            eventually(lambda: observer.metric("rebalance_agent_events_received_total", kind="member") == 1)
            posted = {"kind": "member", "sink": "webhook"}  # it is counted after the answer
            eventually(lambda: sidecar.metric("rebalance_agent_events_published_total", **posted) == 1)
        if through_a_topic:
            (found,) = events(bootstrap, published, group=group)
            assert found["where"]["pod"] == "orders-1"
            assert found["cluster_id"]
