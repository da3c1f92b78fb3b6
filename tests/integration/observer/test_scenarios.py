"""All four group types with real members: exactly the expected episodes, numbers and stalls.

The scenarios run a few at a time, on one broker, beside a transaction that is held open in every partition of the
offsets topic until all have ended, and beside somebody who writes records there that nobody can read.

What is played, and what does not exist (-):

| step                | classic eager | cooperative | consumer | share | streams |
| ------------------- | ------------- | ----------- | -------- | ----- | ------- |
| join, leave, kill   | yes           | yes         | yes      | yes   | yes     |
| static restart      | yes           | yes         | yes      | - (1) | - (2)   |
| slow revocation     | yes           | yes         | yes      | - (3) | yes     |
| topic growth        | yes           | yes         | yes      | yes   | yes (4) |
| assignor change     | yes           | - (5)       | yes (6)  | - (7) | - (7)   |
| coordinator moved   | (9)           | (9)         | (9)      | (9)   | (9)     |
| migration           | yes           | yes         | yes      | - (8) | - (8)   |

1. Members of share groups have no instance ids (KIP-932).
2. Kafka Streams refuses an instance id in a group of its own type (KIP-1071 leaves static membership for later).
3. Nobody is waited for: a share group's coordinator gives a partition to several members and takes it from one by a
   record, and what that one has acquired runs out by its lock (KIP-932).
4. Without internal topics: theirs keep the number of partitions that they were created with.
5. The same as for eager ones: the coordinator takes another name that all members offer.
6. The records show which assignors members ask for, not which one wins: while they differ, none is shown. It is
   certain where one member, which all others agree with, comes back with another wish.
7. Share and streams groups have one assignor, set by the broker; members cannot ask for another.
8. Kafka converts between classic and consumer groups only.
9. With three brokers: `test_scenarios_moved.py`.
"""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from bench.synthetic import generation

from rebalance_agent.testing import EmbeddedKafka
from support.observer.observing import eventually
from support.scenarios.foreign_records import PARTITIONS, SPARED, open_transactions, slot, vandalised, write
from support.scenarios.scenario_parts import (
    BROKER,
    CLASSIC,
    CONSUMER,
    COOPERATIVE,
    EAGER,
    REPORTING,
    Episode,
    Grow,
    Join,
    Kill,
    Leave,
    Restart,
    Scenario,
    Slow,
    act,
    kafka_python,
)
from support.scenarios.scenario_runner import Stage
from support.scenarios.step_results import compared, misjudged

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(900),  # all are played before the first test, and again where the machine stood still
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),  # importing kafka-python warns
]

SLOW_S = 3.0
BOTH = {"partition.assignment.strategy": "roundrobin,range"}
MIGRATED = {**dict.fromkeys(CLASSIC), "partition.assignment.strategy": None, **CONSUMER}
UNIFORM, RANGE = {"group.remote.assignor": "uniform"}, {"group.remote.assignor": "range"}
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
            act(Grow(8), then=Episode(("partitions_changed",), moved=1)),
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
            # It commits nothing, so nothing shows that it did not leave: its last report may be lost.
            act(Kill("c"), then=Episode(("member_gone",), moved=3)),
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
            act(Restart("c"), then=Episode(("member_replaced",))),
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
            # Partitions are prepared before they are shared: a slow coordinator has an epoch without them.
            act(Grow(8), then=Episode(("partitions_changed",)), before=Episode(("rejoin",), noop=True)),
        ),
    ),
    Scenario(
        "streams",
        "streams",
        (
            act(Join("a"), then=Episode(("group_started",), generations=2)),
            act(Join("b"), then=Episode(("member_joined",), moved=4)),
            act(Leave("b"), then=Episode(("member_gone",), moved=4)),
            act(Join("c"), then=Episode(("member_joined",), moved=4)),
            act(Kill("c"), then=Episode(("member_gone",), moved=4)),
        ),
        partitions=4,
        each=2,
    ),
    Scenario(
        "streams-timed",
        "streams-timed",
        (
            act(Join("a"), then=Episode(("group_started",))),
            act(Slow("a", SLOW_S / 3), Join("b"), then=Episode(("member_joined",), moved=3, slow="a")),
            act(Slow("a", 0), Leave("b"), then=Episode(("member_gone",), moved=3)),
            act(Grow(8), then=Episode(("partitions_changed",))),
            act(Join("c"), then=Episode(("member_joined",), moved=4)),
            act(Kill("c"), then=Episode(("member_gone",), moved=4)),
        ),
    ),
    Scenario(
        "consumer-assignor-change",
        "confluent",
        (
            act(Join("a", STATIC["a"] | UNIFORM), then=Episode(("group_started",))),
            act(Restart("a", RANGE), then=Episode(("member_replaced", "assignor_changed"))),
            act(Join("b", UNIFORM), then=Episode(("member_joined",), moved=3)),
            act(Leave("a"), then=Episode(("member_left",), moved=3)),
        ),
        CONSUMER,
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
    Scenario(
        "migration-cooperative",
        "confluent",
        (
            act(Join("a"), then=Episode(("group_started",))),
            act(Join("c", MIGRATED), then=Episode(("member_joined",), moved=3)),
            act(Leave("a"), then=Episode(("member_gone",), moved=3)),
            act(Join("b"), then=Episode(("member_joined",), moved=3)),
            act(Leave("c"), then=Episode(("member_gone",), moved=3)),
        ),
        COOPERATIVE,
    ),
]


def _one_in_each_slot():
    """A group for each partition of the offsets topic but the spared one."""
    names = {slot(name): name for name in map("open-{}".format, range(200))}
    assert len(names) == PARTITIONS
    return [name for number, name in names.items() if number != SPARED]


@pytest.fixture(scope="module")
def stage():
    properties = {**BROKER, "offsets.topic.num.partitions": str(PARTITIONS)}
    with EmbeddedKafka(properties=properties) as kafka, ExitStack() as stack:
        made = Stage(kafka, stack, SCENARIOS, suits=lambda group: slot(group) != SPARED)
        bootstrap, names = kafka.bootstrap_servers, [made.group(each) for each in SCENARIOS]
        with open_transactions(bootstrap, _one_in_each_slot()), vandalised(bootstrap, names):
            yield made


@pytest.fixture(scope="module")
def played(stage, request):
    """Every scenario that a chosen test wants: played."""
    wanted = [item.callspec.params.get("scenario") for item in request.session.items if hasattr(item, "callspec")]
    return stage.play_all([each for each in SCENARIOS if each in wanted], plays=3)


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
def test_stalls_are_as_long_as_the_members_measured(stage, acts, scenario):
    assert list(misjudged(stage, scenario, acts)) == []


@pytest.mark.parametrize(
    "scenario",
    [each for each in SCENARIOS if each.client in REPORTING],
    ids=lambda each: each.name,
)
def test_what_members_report_is_measured_and_not_bounded(acts, scenario):
    killed = [any(isinstance(step, Kill) for step in part.act.steps) for part in acts]
    assert [part.closing[-1]["stall"]["basis"] for part in acts] == ["bound" if each else "exact" for each in killed]


def test_what_nobody_can_read_is_counted_and_nothing_more(stage, played):
    counted = {
        **dict.fromkeys(("2", "5", "8", "16", "22", "other"), ("rebalance_agent_decode_errors_total", "key_version")),
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
