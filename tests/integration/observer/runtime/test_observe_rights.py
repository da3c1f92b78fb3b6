"""Rights on a broker with Kafka's authorizer: the documented ones suffice, and each missing one has a degraded mode."""

from __future__ import annotations

import json
import shlex
import uuid

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from rebalance_agent.cli import main
from rebalance_agent.model.event_json import json_line
from rebalance_agent.runtime.settings.rights import agent_rights
from rebalance_agent.runtime.settings.roles import ObserverSettings, SidecarSettings
from rebalance_agent.testing import EmbeddedKafka, Listener
from support.members.share_consumer import share_consumer
from support.observer.observing import beside, create_topic, events, eventually, http, members, observing
from support.observer.views import member_event
from support.rights.granted import give

pytestmark = pytest.mark.integration

PASSWORD = "not-a-secret"
EVENTS, STATE, BASELINES = "rebalance-events", "rebalance-agent-state", "rebalance-baselines"


@pytest.fixture(scope="module")
def kafka():
    users = {"observer": PASSWORD, "sidecar": PASSWORD}
    with EmbeddedKafka(listeners={"USERS": Listener.sasl("PLAIN", users)}, authorizer=True) as kafka:
        create_topic(kafka.bootstrap_servers, "t", 2)
        yield kafka


@pytest.fixture
def group():
    return f"group-{uuid.uuid4().hex[:8]}"


@pytest.fixture(autouse=True)
def _rights_are_asked_for_often(monkeypatch):
    monkeypatch.setattr("rebalance_agent.runtime.processes.rights_watch.RIGHTS_WATCH_S", 0.2)
    monkeypatch.setattr("rebalance_agent.runtime.processes.observer.RIGHTS_WATCH_S", 0.2)
    monkeypatch.setattr("rebalance_agent.runtime.processes.observer.BASELINES_EVERY_S", 0.2)
    monkeypatch.setattr("rebalance_agent.polls.baseline_reader.DENIED_RETRY_S", 0.5)
    monkeypatch.setattr("rebalance_agent.cluster.worker.DENIED_RETRY_S", 0.5)
    monkeypatch.setattr("rebalance_agent.runtime.sinks.publisher.REPLACE_WAIT_S", 0.2)


def properties(kafka, user):
    return {
        "bootstrap.servers": kafka.address("USERS"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": PASSWORD,
    }


def observer(kafka, **settings):
    often = {"describe_interval_seconds": 0.2, "list_all_interval_seconds": 0.5, "settle_seconds": 0.2}
    return observing(None, kafka=properties(kafka, "observer"), state_topic=STATE, **often, **settings)


def degraded(watched):
    reported = {
        name: value for name, value in watched.metrics().items() if name.startswith("rebalance_agent_degraded{")
    }
    return {name.split('"')[1] for name, value in reported.items() if value}


def published(kafka, group):
    return [each["generation"] for each in events(kafka.bootstrap_servers, EVENTS, group=group)]


def test_the_documented_rights_suffice(kafka, group):
    give(kafka, "User:observer", agent_rights(ObserverSettings()))
    with observer(kafka) as watched, members(kafka.bootstrap_servers, group, "t"):
        eventually(lambda: watched.metric("kafka_rebalance_generation", consumergroup=group) == 1)
        eventually(lambda: published(kafka, group) == [1])
        assert watched.source(group) == "records"
        assert watched.metric("kafka_rebalance_partitions", consumergroup=group) == 2
        eventually(lambda: watched.metric("rebalance_agent_offsets_message_max_bytes"))
        assert eventually(watched.ready)
        assert degraded(watched) == set()


FLEET = {"replicas_group": "rebalance-agent-tests"}
NEEDED = [
    right for right in agent_rights(ObserverSettings(**FLEET)) if right.operation != "Create" and not right.optional
]


@pytest.mark.parametrize("taken", NEEDED, ids=lambda right: f"{right.mode}-{right.operation}")
def test_without_one_right_the_mode_is_named_and_unknown_facts_are_omitted(kafka, group, taken):
    create_own_topics(kafka)
    give(kafka, "User:observer", [right for right in NEEDED if right is not taken])
    unshared = taken.mode == "unshared"  # then it must never become ready
    with (
        observer(kafka, wait=not unshared, **(FLEET if unshared else {})) as watched,
        members(kafka.bootstrap_servers, group, "t"),
    ):
        eventually(lambda: degraded(watched) == {taken.mode}, waiting_for=taken.mode)
        assert f"{taken} is missing: {taken.lost}" == json.loads(watched.get("/readyz")[1])["degraded"][taken.mode]
        BEHAVIOUR[taken.mode](kafka, watched, group)
        give(kafka, "User:observer", NEEDED)
        eventually(lambda: degraded(watched) == set())
        eventually(lambda: watched.source(group) == "records")
        eventually(watched.ready)


def create_own_topics(kafka):
    for topic in (EVENTS, STATE, BASELINES):
        try:
            create_topic(kafka.bootstrap_servers, topic, 2)
        except KafkaException as error:  # the previous test created it
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


def _only_described(kafka, watched, group):
    eventually(lambda: watched.metric("kafka_rebalance_members", consumergroup=group) == 1)
    eventually(watched.ready)
    assert watched.source(group) == "admin"
    assert watched.metric("kafka_rebalance_generation", consumergroup=group) is None
    claims = ("kafka_rebalance_completed_total", "kafka_rebalance_stall", "kafka_rebalance_failed")
    assert [name for name in watched.metrics() if name.startswith(claims) and f'"{group}"' in name] == []
    assert published(kafka, group) == []


def _all_the_same(kafka, watched, group):
    eventually(lambda: watched.metric("kafka_rebalance_generation", consumergroup=group) == 1)
    assert watched.source(group) == "records"
    eventually(lambda: published(kafka, group) == [1])
    eventually(watched.ready)


def _limit_unknown(kafka, watched, group):
    _all_the_same(kafka, watched, group)
    assert watched.metric("rebalance_agent_offsets_message_max_bytes") is None


def _unshared(kafka, watched, group):
    eventually(lambda: "--group rebalance-agent-tests" in watched.parts()["ownership"])
    assert not watched.ready()
    assert watched.source(group) is None


def _unpublished(kafka, watched, group):
    dropped = lambda: watched.metric("rebalance_agent_events_dropped_total", where="kafka")  # noqa: E731
    # Events of the last test's group can be dropped first.
    eventually(lambda: watched.metric("kafka_rebalance_generation", consumergroup=group) == 1)
    eventually(lambda: dropped() > 0, waiting_for="dropped")
    assert published(kafka, group) == []
    eventually(watched.ready)


def _unheard(kafka, watched, group):
    _all_the_same(kafka, watched, group)
    assert watched.metric("rebalance_agent_ready", part="member_events") == 1


BEHAVIOUR = {
    "admin-only": _only_described,
    "baselines-unread": _all_the_same,
    "events-unpublished": _unpublished,
    "groups-hidden": _all_the_same,
    "limit-unknown": _limit_unknown,
    "members-unheard": _unheard,
    "state-unsaved": _all_the_same,
    "topics-hidden": _all_the_same,
    "unshared": _unshared,
}


def test_without_the_optional_right_no_dead_letter_queue_is_shown_until_it_is_granted(
    kafka, group, monkeypatch, caplog
):
    monkeypatch.setattr("rebalance_agent.runtime.watch.cluster_watch.LOOK_EVERY_S", 0.5)
    monkeypatch.setattr("rebalance_agent.polls.settings.read_schedule.REFRESH_S", 1.0)
    give(kafka, "User:observer", NEEDED)
    with observer(kafka) as watched, share_consumer(kafka, group, "t"):
        eventually(lambda: watched.source(group) == "records", waiting_for=group)
        eventually(lambda: "DescribeConfigs" in caplog.text, waiting_for="the log")
        assert "dead_letter_queue" not in watched.detail(group)
        assert degraded(watched) == set()
        give(kafka, "User:observer", agent_rights(ObserverSettings(**FLEET)))
        none = {"topic": "", "copies_records": False}
        eventually(lambda: watched.detail(group).get("dead_letter_queue") == none, waiting_for=group)
    assert caplog.text.count("DescribeConfigs") == 1


def test_a_missing_topic_without_the_right_to_create_it_is_the_mode_without_events(kafka):
    give(kafka, "User:observer", NEEDED)
    with observer(kafka, events_topic=f"absent-{uuid.uuid4().hex[:8]}") as watched:
        eventually(lambda: degraded(watched) == {"events-unpublished"})
        assert "Create on Topic 'absent-" in watched.get("/readyz")[1]


def test_an_observer_without_the_right_to_any_group_is_not_ready(kafka):
    blind = {"admin-only", "groups-hidden"}
    give(kafka, "User:observer", [right for right in NEEDED if right.mode not in blind])
    with observer(kafka, wait=False) as watched:
        eventually(lambda: degraded(watched) == blind)
        eventually(lambda: "no group is visible" in watched.parts().get("rights", ""))
        assert watched.get("/readyz")[0] == 503


def test_a_sidecar_needs_only_the_right_to_write_and_reports_when_it_is_missing(kafka):
    create_own_topics(kafka)
    write, _ = agent_rights(SidecarSettings())
    give(kafka, "User:sidecar", [])
    with beside(None, kafka=properties(kafka, "sidecar")) as sidecar:
        post = lambda: http(  # noqa: E731
            f"http://127.0.0.1:{sidecar.role.events_port}/v1/events", json_line(member_event(group="beside"))
        )
        eventually(lambda: degraded(sidecar) == {"events-unpublished"})
        assert post()[0] < 300
        eventually(lambda: sidecar.metric("rebalance_agent_events_dropped_total", where="kafka") == 1)
        give(kafka, "User:sidecar", [write])
        eventually(lambda: degraded(sidecar) == set())
        # The permanently refused producer may still accept the first event and drop it.
        eventually(lambda: events(kafka.bootstrap_servers, EVENTS, group="beside"), between=post)


def checked(capsys, kafka, *arguments):
    """Exit code and report of ``rebalance-agent check`` as the observer."""
    flags = [
        f"--kafka={name}={value}" for name, value in properties(kafka, "observer").items() if "password" not in name
    ]
    code = main.main(["check", "--json", "--listen=127.0.0.1:0", *flags, *arguments])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def _password(monkeypatch):
    monkeypatch.setenv("REBALANCE_AGENT_KAFKA__SASL_PASSWORD", PASSWORD)


@pytest.mark.usefixtures("_password")
def test_check_proves_every_right_and_changes_nothing(kafka, capsys):
    give(kafka, "User:observer", agent_rights(ObserverSettings()))
    topic = f"not-made-{uuid.uuid4().hex[:8]}"
    code, report = checked(capsys, kafka)
    assert (code, report["verdict"], report["principal"]) == (0, "ok", "User:observer")
    assert {each["name"] for each in report["checks"]} >= {str(right) for right in agent_rights(ObserverSettings())}
    statuses = {each["name"]: each["status"] for each in report["checks"]}
    assert statuses["DescribeConfigs on Group '*'"] == "ok"
    code, report = checked(capsys, kafka, "--events-topic", topic)
    assert code == 1  # the principal has no rights on that topic
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    assert topic not in admin.list_topics(timeout=10).topics
    assert all(each.group_id != "rebalance-agent" for each in admin.list_consumer_groups().result().valid)


@pytest.mark.usefixtures("_password")
def test_the_commands_printed_by_check_grant_missing_rights(kafka, capsys):
    create_own_topics(kafka)
    give(kafka, "User:observer", [])
    code, report = checked(capsys, kafka)
    missing = [each for each in report["checks"] if each["status"] == "missing"]
    needed = [right for right in agent_rights(ObserverSettings()) if right.operation != "Create" and not right.optional]
    failed = [each["detail"] for each in report["checks"] if each["status"] == "failed"]
    (optional,) = (each for each in report["checks"] if each["name"] == "DescribeConfigs on Group '*'")
    assert (optional["status"], optional["fix"].split()[-1]) == ("skipped", "'*'")
    assert code == 1
    assert [detail.partition(",")[0] for detail in failed] == ["no group is visible"]
    assert [each["name"] for each in missing] == [str(right) for right in needed]
    assert [each["degraded_mode"] for each in missing] == [right.mode for right in needed]
    # Run only the first one, on the administrator's listener; the others are built alike and need a JVM each.
    _, *words = shlex.split(missing[0]["fix"])
    words[words.index("--bootstrap-server") + 1] = kafka.bootstrap_servers
    done = kafka.run_tool("org.apache.kafka.tools.AclCommand", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    code, report = checked(capsys, kafka)
    assert [each["name"] for each in report["checks"] if each["status"] == "missing"] == [str(r) for r in needed[1:]]
    assert not any(each["status"] == "failed" for each in report["checks"])


@pytest.mark.usefixtures("_password")
def test_check_distinguishes_a_wrong_password_from_an_unreachable_server(kafka, capsys, monkeypatch):
    monkeypatch.setenv("REBALANCE_AGENT_KAFKA__SASL_PASSWORD", "wrong")
    code, report = checked(capsys, kafka)
    server = next(each for each in report["checks"] if each["name"].startswith("server"))
    assert (code, report["verdict"]) == (2, "unreachable")
    assert server["detail"].startswith("SASL: ")
    assert "wrong" not in server["detail"]
    code, report = checked(capsys, kafka, "--bootstrap-servers", "127.0.0.1:1")
    assert code == 2
    assert any(each.get("detail") == "TCP: port 1 is closed" for each in report["checks"])
