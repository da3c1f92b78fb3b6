"""All four types of groups, played by real members: exactly the expected episodes, numbers and stalls.

All scenarios run at once, on one broker, beside a transaction that is held open in every partition of the offsets
topic until all have ended, and beside somebody who writes records there that nobody can read.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager

import pytest
from bench.synthetic import generation
from confluent_kafka import Consumer, Producer, TopicPartition

from rebalance_agent.testing import EmbeddedKafka
from support.observing import PATIENCE_S, create_topic, eventually
from support.scenario_hostile import PARTITIONS, SPARED, slot, vandalised, write
from support.scenarios import (
    BROKER,
    CLASSIC,
    CONSUMER,
    COOPERATIVE,
    EAGER,
    Episode,
    Grow,
    Join,
    Kill,
    Leave,
    Restart,
    Scenario,
    Slow,
    Stage,
    act,
    compared,
    kafka_python,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),  # importing kafka-python warns
]

SLOW_S = 3.0
TOLERANCE_S = 0.1
CALLED_S = 5.0
"""Until a member that reports to nobody, and was given something, has been called: what bounds cannot know.

librdkafka first asks for a topic's metadata, which takes some milliseconds, or seconds on a machine that is busy.
"""
BOTH = {"partition.assignment.strategy": "roundrobin,range"}
MIGRATED = {**dict.fromkeys(CLASSIC), "partition.assignment.strategy": None, **CONSUMER}
STATIC = {name: {"group.instance.id": f"instance-{name}"} for name in "abc"}


def _static(name):
    return Join(name, {"group_instance_id": f"instance-{name}"})


SCENARIOS = [
    Scenario(
        "eager-librdkafka",
        "confluent",
        (
            act(Join("a"), then=Episode(("group_started",))),
            act(Join("b", killable=True), then=Episode(("member_joined",), moved=3)),
            act(Grow(8), then=Episode(("partitions_changed",), moved=1, early_s=0.5)),
            act(Kill("b"), then=Episode(("member_gone",), moved=4)),
            act(Join("c", STATIC["c"]), then=Episode(("member_joined",), moved=4)),
            act(Restart("c"), then=Episode(("member_replaced",))),
        ),
        EAGER,
    ),
    Scenario(
        "eager-kafka-python",
        "kafka-python",
        (
            act(Join("a"), then=Episode(("group_started",))),
            act(Slow("a", SLOW_S), Join("b"), then=Episode(("member_joined",), moved=3, slow="a")),
            act(Slow("a", 0), Leave("b"), then=Episode(("member_left",), moved=3)),
            act(Join("c", killable=True), then=Episode(("member_joined",), moved=3)),
            act(Kill("c"), then=Episode(("member_failed",), moved=3)),
        ),
        kafka_python("range", session_timeout_ms=6_000),
    ),
    Scenario(
        "cooperative-kafka-python",
        "kafka-python",
        (
            act(Join("a"), then=Episode(("group_started",))),
            act(Slow("a", SLOW_S), Join("b"), then=Episode(("member_joined",), moved=3, generations=2, slow="a")),
            act(Slow("a", 0), Leave("b"), then=Episode(("member_left",), moved=3)),
            act(_static("c"), then=Episode(("member_joined",), moved=3, generations=2)),
            act(Restart("c"), then=Episode(("member_replaced",))),
            act(Grow(8), then=Episode(("partitions_changed",))),
        ),
        kafka_python("cooperative-sticky"),
    ),
    Scenario(
        "cooperative-librdkafka",
        "confluent",
        (
            act(Join("a"), then=Episode(("group_started",))),
            act(Join("b", killable=True), then=Episode(("member_joined",), moved=3, generations=2)),
            act(Kill("b"), then=Episode(("member_gone",), moved=3)),
            act(Join("c"), then=Episode(("member_joined",), moved=3, generations=2)),
            act(Leave("c"), then=Episode(("member_gone",), moved=3)),
        ),
        COOPERATIVE,
    ),
    Scenario(
        "consumer-librdkafka",
        "confluent",
        (
            act(Join("a"), then=Episode(("group_started",))),
            act(Slow("a", SLOW_S), Join("b", killable=True), then=Episode(("member_joined",), moved=3, slow="a")),
            act(Slow("a", 0), Grow(8), then=Episode(("partitions_changed",))),
            act(Kill("b"), then=Episode(("member_gone",), moved=4)),
            act(Join("c", STATIC["c"]), then=Episode(("member_joined",), moved=4)),
            act(Restart("c"), then=Episode(("member_replaced",), early_s=0.5)),
            act(Join("d"), then=Episode(("member_joined",), moved=2)),
            act(Leave("d"), then=Episode(("member_gone",), moved=2)),
        ),
        CONSUMER,
    ),
    Scenario(
        "consumer-instrumented",
        "confluent-instrumented",
        (
            act(Join("a"), then=Episode(("group_started",))),
            act(Slow("a", SLOW_S), Join("b"), then=Episode(("member_joined",), moved=3, slow="a")),
            act(Slow("a", 0), Leave("b"), then=Episode(("member_left",), moved=3)),
        ),
        CONSUMER,
    ),
    Scenario(
        "share",
        "share",
        (
            act(Join("a"), then=Episode(("group_started",), generations=2)),
            act(Join("b"), then=Episode(("member_joined",), moved=3)),
            act(Leave("b"), then=Episode(("member_gone",), moved=3)),
            act(Join("c"), then=Episode(("member_joined",), moved=3)),
            act(Kill("c"), then=Episode(("member_gone",), moved=3)),
            act(Grow(8), then=Episode(("partitions_changed",))),
        ),
    ),
    Scenario(
        "streams",
        "streams",
        (
            act(Join("a"), then=Episode(("group_started", "topics_changed"), generations=2)),
            act(Join("b"), then=Episode(("member_joined",), moved=4)),
            act(Leave("b"), then=Episode(("member_gone",), moved=4)),
            act(Join("c"), then=Episode(("member_joined",), moved=4)),
            act(Kill("c"), then=Episode(("member_gone",), moved=4)),
        ),
        partitions=4,
        each=2,
    ),
    Scenario(
        "assignor-change",
        "confluent",
        (
            act(Join("a"), then=Episode(("group_started",))),
            act(Join("b"), then=Episode(("member_joined",), moved=3)),
            act(Leave("a"), then=Episode(("member_gone",), moved=3)),
            act(Join("a2", BOTH), then=Episode(("member_joined",), moved=3)),
            act(Leave("b"), then=Episode(("member_gone", "assignor_changed"), moved=3)),
            act(Join("b2", BOTH), then=Episode(("member_joined",), moved=3)),
        ),
        EAGER,
    ),
    Scenario(
        "migration",
        "confluent",
        (
            act(Join("a"), then=Episode(("group_started",))),
            act(Join("b"), then=Episode(("member_joined",), moved=3)),
            act(Join("c", MIGRATED), then=Episode(("member_joined",), moved=2)),
            act(Leave("a"), then=Episode(("member_gone",), moved=2)),
            act(Leave("b"), then=Episode(("member_gone",), moved=3)),
            act(Join("d", MIGRATED), then=Episode(("member_joined",), moved=3)),
            act(Join("e"), then=Episode(("member_joined",), moved=2)),
            act(Leave("c"), then=Episode(("member_gone",), moved=2)),
            act(Leave("d"), then=Episode(("member_gone",), moved=3)),
            act(Join("f"), then=Episode(("member_joined",), moved=3)),
        ),
        EAGER,
    ),
]


@contextmanager
def _open_transactions(bootstrap):
    """Offsets of one group in each partition of the offsets topic, sent in transactions that stay open."""
    create_topic(bootstrap, "transacted", 1)
    with ExitStack() as stack:
        for group in _one_in_each_slot():
            settings = {"bootstrap.servers": bootstrap, "log_level": 0}
            producer = Producer({**settings, "transactional.id": group, "transaction.timeout.ms": 600_000})
            consumer = Consumer({**settings, "group.id": group})
            stack.callback(consumer.close)
            producer.init_transactions(PATIENCE_S)
            producer.begin_transaction()
            offsets = [TopicPartition("transacted", 0, 1)]
            producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), PATIENCE_S)
            stack.callback(producer.abort_transaction, PATIENCE_S)  # raises unless it is still open
        yield


def _one_in_each_slot():
    names = {slot(name): name for name in map("open-{}".format, range(200))}
    assert len(names) == PARTITIONS
    return [name for number, name in names.items() if number != SPARED]


@pytest.fixture(scope="module")
def stage():
    properties = {**BROKER, "offsets.topic.num.partitions": str(PARTITIONS)}
    with EmbeddedKafka(properties=properties) as kafka, ExitStack() as stack:
        made = Stage(kafka, stack, SCENARIOS, suits=lambda group: slot(group) != SPARED)
        bootstrap, names = kafka.bootstrap_servers, [made.group(each) for each in SCENARIOS]
        with _open_transactions(bootstrap), vandalised(bootstrap, names):
            yield made


@pytest.fixture(scope="module")
def played(stage, request):
    """Every scenario that a chosen test wants: played."""
    wanted = [item.callspec.params.get("scenario") for item in request.session.items if hasattr(item, "callspec")]
    return stage.play_all([each for each in SCENARIOS if each in wanted])


@pytest.fixture
def acts(played, scenario):
    result = played[scenario.name]
    if isinstance(result, BaseException):
        raise result
    return result


every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)


@every_scenario
def test_exactly_the_expected_episodes(acts, scenario):
    expected, published = compared(acts)
    assert published == expected


@every_scenario
def test_the_generations_are_those_of_the_topic(stage, acts, scenario):
    published = [each["generation"] for part in acts for each in part.events if each["kind"] == "generation"]
    numbers = stage.journal.numbers(stage.group(scenario), acts[-1].rested_ms)
    restarts = sum(1 for part in acts for step in part.act.steps if isinstance(step, Restart))
    assert len(published) - len(set(published)) <= restarts
    assert sorted(set(published)) == numbers
    assert not [each for part in acts for each in part.events if each["kind"] == "aborted"]


@every_scenario
def test_stalls_are_as_long_as_the_members_measured(acts, scenario):
    off = []
    for part in acts:
        if (measured := part.measured_stall()) is None:
            continue
        stall = part.closing[-1]["stall"]
        late_s = TOLERANCE_S if stall["basis"] == "exact" else CALLED_S + part.act.episodes[-1].early_s
        if not stall["lower_seconds"] - TOLERANCE_S <= measured <= stall["seconds"] + late_s:
            off.append(f"{part.act.steps}: measured {measured}, published {stall}")
    assert off == []


@pytest.mark.parametrize(
    "scenario",
    [each for each in SCENARIOS if each.client in ("kafka-python", "confluent-instrumented")],
    ids=lambda each: each.name,
)
def test_what_members_report_is_measured_and_not_bounded(acts, scenario):
    killed = [any(isinstance(step, Kill) for step in part.act.steps) for part in acts]
    assert [part.closing[-1]["stall"]["basis"] for part in acts] == ["bound" if each else "exact" for each in killed]


def test_what_nobody_can_read_is_counted_and_nothing_more(stage, played):
    counted = {
        **dict.fromkeys(("2", "other"), ("rebalance_agent_decode_errors_total", "key_version")),
        **dict.fromkeys(("key_version", "value_version"), ("rebalance_agent_unknown_records_total", "unknown")),
    }
    for value, (name, label) in counted.items():
        eventually(lambda name=name, label=label, value=value: stage.observer.metric(name, **{label: value}) > 0)
    assert stage.observer.ready()


def test_a_group_of_any_name_is_shown_under_it(stage):
    name = 'a "group"\nof \\ two lines ' + "\N{SNOWMAN}" * 177
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    write(stage.kafka.bootstrap_servers, [generation(name, 7, 1)])
    eventually(lambda: stage.observer.metric("kafka_rebalance_generation", consumergroup=escaped) == 7)
