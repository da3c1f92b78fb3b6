"""`verify` on a real cluster: no difference after churn, a kill and a takeover; differences if something is missing."""

from __future__ import annotations

import json
import uuid
from contextlib import ExitStack, contextmanager

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from rebalance_agent.cli.main import main
from rebalance_agent.runtime.watch.audit_source import scraped
from rebalance_agent.testing import EmbeddedKafka
from support.observer.observing import KIP_848, create_topic, eventually, everything, members, observing
from support.observer.replicas import generations, kill, replica

pytestmark = pytest.mark.integration

KINDS = {
    "eager": {"partition.assignment.strategy": "range"},
    "cooperative": {"partition.assignment.strategy": "cooperative-sticky"},
    "consumer": KIP_848,
}


@pytest.fixture
def names():
    """A topic, a group of each kind, and settings of the observers."""
    unique = uuid.uuid4().hex[:8]
    groups = {kind: f"{kind}-{unique}" for kind in KINDS}
    settings = {
        "events_topic": f"events-{unique}",
        "state_topic": f"state-{unique}",
        "groups_allow": f".*-{unique}",
    }
    return f"topic-{unique}", groups, settings


@pytest.fixture
def verify(names, kafka, capsys):
    _, _, settings = names

    def run(*flags, bootstrap=kafka.bootstrap_servers):
        pattern, topic = settings["groups_allow"], settings["events_topic"]
        fixed = ["--bootstrap-servers", bootstrap, "--groups", pattern, "--events-topic", topic, "--json"]
        capsys.readouterr()  # observers in this process log
        code = main(["verify", *fixed, "--grace-seconds", "20", *flags])
        out, err = capsys.readouterr()
        return code, json.loads(out) if out else None, err

    return run


def _churn(bootstrap, topic, groups, rounds=3):
    """Members of each group join and leave."""
    with ExitStack() as stack:
        for kind, group in groups.items():
            stack.enter_context(members(bootstrap, group, topic, **KINDS[kind]))
        for _ in range(rounds):
            with _rebalanced(bootstrap, groups), ExitStack() as second, _rebalanced(bootstrap, groups):
                for kind, group in groups.items():
                    second.enter_context(members(bootstrap, group, topic, **KINDS[kind]))


@contextmanager
def _rebalanced(bootstrap, groups):
    """Wait at the end of the block until each classic group has another generation."""
    classic = [group for kind, group in groups.items() if kind != "consumer"]
    before = generations(bootstrap, classic)
    yield
    # Compared by the last one, because compaction removes the others.
    eventually(lambda: all(now[-1:] > before[group][-1:] for group, now in generations(bootstrap, classic).items()))


def _reported(bootstrap, topic):
    return [json.loads(each.value()) for each in everything(bootstrap, topic)]


def _last_are_reported(bootstrap, topic, groups):
    """The end of every group has its event: all before it were published earlier."""

    def ended():
        empty = {
            each["group"]
            for each in _reported(bootstrap, topic)
            if each["kind"] == "generation" and not each["members"]
        }
        return empty >= set(groups.values())

    eventually(ended)


def test_clean_after_an_observer_was_killed_and_another_took_over(names, verify, kafka, tmp_path):
    topic, groups, settings = names
    bootstrap = kafka.bootstrap_servers
    create_topic(bootstrap, topic, 4)
    with replica(bootstrap, **settings) as first:
        eventually(first.ready)
        _churn(bootstrap, topic, groups)
        kill(first)
    published, metrics = tmp_path / "published.ndjson", tmp_path / "metrics.txt"
    with replica(bootstrap, **settings, events_file=str(published)) as second:
        eventually(second.ready)
        _churn(bootstrap, topic, groups)
        _last_are_reported(bootstrap, settings["events_topic"], groups)
        metrics.write_text(second.get("/metrics")[1])
    assert scraped(metrics.read_text()).replayed is not None
    code, report, err = verify("--lifetime", str(metrics), str(published))
    assert (code, err, report["differences"]) == (0, "", [])
    assert report["groups"] == len(KINDS)
    assert report["agreed"] > 30
    counted = metrics.read_text().replace(
        "kafka_rebalance_partitions_assigned_total{", "kafka_rebalance_noop_total{", 1
    )
    metrics.write_text(counted)
    assert verify("--lifetime", str(metrics), str(published))[0] == 1


def test_rebalances_missed_by_an_observer_without_snapshots_are_named(names, verify, kafka):
    topic, groups, settings = names
    bootstrap = kafka.bootstrap_servers
    create_topic(bootstrap, topic, 4)
    settings = {**settings, "state_topic": ""}
    with observing(bootstrap, **settings):
        _churn(bootstrap, topic, groups, 1)
        _last_are_reported(bootstrap, settings["events_topic"], groups)
    _churn(bootstrap, topic, groups, 1)
    with observing(bootstrap, **settings):
        _churn(bootstrap, topic, groups, 1)
        _last_are_reported(bootstrap, settings["events_topic"], groups)
    code, report, _ = verify("--grace-seconds", "0")
    assert code == 1
    missed = {each["group"] for each in report["differences"] if "has no event" in each["what"]}
    assert missed == set(groups.values())


def test_an_invented_event_is_a_difference(names, verify, kafka):
    topic, groups, settings = names
    bootstrap, published = kafka.bootstrap_servers, settings["events_topic"]
    create_topic(bootstrap, topic, 4)
    with observing(bootstrap, **settings):
        _churn(bootstrap, topic, groups, 1)
        _last_are_reported(bootstrap, published, groups)
    assert verify()[0] == 0
    event = next(each for each in _reported(bootstrap, published) if each["kind"] == "generation")
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(published, json.dumps({**event, "event_id": "0" * 32, "generation": 77}))
    producer.flush()
    code, report, _ = verify()
    assert code == 1
    assert [each["generation"] for each in report["differences"]] == [77]


def test_facts_of_compacted_records_are_not_judged(names, verify):
    topic, groups, settings = names
    cleaned = {"log.cleaner.backoff.ms": "200"}
    with EmbeddedKafka(properties=cleaned) as kafka:
        bootstrap = kafka.bootstrap_servers
        create_topic(bootstrap, topic, 4)
        with observing(bootstrap, **settings):
            _churn(bootstrap, topic, groups)
            _compact(bootstrap)
            _churn(bootstrap, topic, groups, 1)
            eventually(lambda: _gaps(bootstrap))
            _last_are_reported(bootstrap, settings["events_topic"], groups)
        code, report, err = verify(bootstrap=bootstrap)
        assert (code, err, report["differences"]) == (0, "", [])
        assert report["agreed"] > 0
        assert report["unjudged"]["whose records were compacted away"] > 0


def _compact(bootstrap):
    """Roll and compact segments quickly from now on."""
    settings = {"segment.ms": "200", "min.cleanable.dirty.ratio": "0.01", "min.compaction.lag.ms": "0"}
    entries = [ConfigEntry(*each, incremental_operation=AlterConfigOpType.SET) for each in settings.items()]
    resource = ConfigResource(ConfigResource.Type.TOPIC, "__consumer_offsets", incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result()


def _gaps(bootstrap):
    """Whether there are fewer records than offsets."""
    offsets = {}
    for each in everything(bootstrap, "__consumer_offsets"):
        offsets.setdefault(each.partition(), []).append(each.offset())
    return any(len(each) <= each[-1] for each in offsets.values())
