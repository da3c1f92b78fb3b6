"""All four group types with real members: exactly the expected episodes, numbers and stalls.

Several scenarios run at the same time on one broker. Until all have ended, a transaction is open in each partition of
the offsets topic except one, and another program writes unreadable records to that one.

What runs, and what does not exist (-):

| step                | classic eager | cooperative | consumer | share | streams |
| ------------------- | ------------- | ----------- | -------- | ----- | ------- |
| join, leave, kill   | yes           | yes         | yes      | yes   | yes     |
| static restart      | yes           | yes         | yes      | - (1) | (2)     |
| slow revocation     | yes           | yes         | yes      | - (3) | yes     |
| topic growth        | yes           | yes         | yes      | yes   | yes (4) |
| assignor change     | yes           | - (5)       | yes (6)  | - (7) | - (7)   |
| coordinator moved   | (9)           | (9)         | (9)      | (9)   | (9)     |
| migration           | yes           | yes         | yes      | - (8) | - (8)   |

1. Members of share groups have no instance ids (KIP-932).
2. Since Kafka 4.4, in ``tests/versions``: before, Kafka Streams refuses an instance id in a group of its own type.
3. No member waits: a share group's coordinator gives a partition to several members and takes it from one by a
   record, and its acquired records are released when their lock expires (KIP-932).
4. Without internal topics, whose number of partitions never changes.
5. The same as for eager ones: the coordinator takes another name that all members offer.
6. The records show which assignor each member requests, not which one the coordinator uses: while they differ, none is
   shown. It is known when one member returns with the assignor that all others request.
7. Share and streams groups have one assignor, set by the broker; members cannot ask for another.
8. Kafka converts between classic and consumer groups only.
9. With three brokers: `test_scenarios_moved.py`.
"""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from bench.synthetic import generation

from rebalance_agent.testing import EmbeddedKafka
from rebalance_agent.testing.kafka.kafka_versions import kafka_version
from support.observer.observing import eventually
from support.scenarios.foreign_records import (
    FOREIGN_PARTITION,
    PARTITIONS,
    offsets_partition,
    open_transactions,
    write,
    writing_bad_records,
)
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
    kafka_python,
    step,
)
from support.scenarios.scenario_runner import ScenarioRunner
from support.scenarios.step_results import compare_episodes, stall_differences

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(900),  # all scenarios run before the first test, and again if the machine paused
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),  # importing kafka-python warns
]

SINCE_4_4 = kafka_version().number >= "4.4"
"""Since Kafka 4.4, a member that requests another assignor causes a new epoch."""

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
            step(Join("a"), then=Episode(("group_started",))),
            step(Join("b", killable=True), then=Episode(("member_joined",), moved=3)),
            step(Grow(8), then=Episode(("partitions_changed",), moved=1)),
            step(Kill("b"), then=Episode(("member_gone",), moved=4)),
            step(Join("c", STATIC["c"]), then=Episode(("member_joined",), moved=4)),
            step(Restart("c"), then=Episode(("member_replaced",))),
        ),
        EAGER,
    ),
    Scenario(
        "eager-kafka-python",
        "kafka-python",
        (
            step(Join("a"), then=Episode(("group_started",))),
            step(Slow("a", SLOW_S), Join("b"), then=Episode(("member_joined",), moved=3, slow="a")),
            step(Slow("a", 0), Leave("b"), then=Episode(("member_left",), moved=3)),
            step(Join("c", killable=True), then=Episode(("member_joined",), moved=3)),
            # It commits nothing, so its failure cannot be distinguished from a leave: its last report may be lost.
            step(Kill("c"), then=Episode(("member_gone",), moved=3)),
        ),
        kafka_python("range", session_timeout_ms=6_000),
    ),
    Scenario(
        "cooperative-kafka-python",
        "kafka-python",
        (
            step(Join("a"), then=Episode(("group_started",))),
            step(Slow("a", SLOW_S), Join("b"), then=Episode(("member_joined",), moved=3, generations=2, slow="a")),
            step(Slow("a", 0), Leave("b"), then=Episode(("member_left",), moved=3)),
            step(_static("c"), then=Episode(("member_joined",), moved=3, generations=2)),
            step(Restart("c"), then=Episode(("member_replaced",))),
            step(Grow(8), then=Episode(("partitions_changed",))),
        ),
        kafka_python("cooperative-sticky"),
    ),
    Scenario(
        "cooperative-librdkafka",
        "confluent",
        (
            step(Join("a"), then=Episode(("group_started",))),
            step(Join("b", killable=True), then=Episode(("member_joined",), moved=3, generations=2)),
            step(Kill("b"), then=Episode(("member_gone",), moved=3)),
            step(Join("c"), then=Episode(("member_joined",), moved=3, generations=2)),
            step(Leave("c"), then=Episode(("member_gone",), moved=3)),
        ),
        COOPERATIVE,
    ),
    Scenario(
        "consumer-librdkafka",
        "confluent",
        (
            step(Join("a"), then=Episode(("group_started",))),
            step(Slow("a", SLOW_S), Join("b", killable=True), then=Episode(("member_joined",), moved=3, slow="a")),
            step(Slow("a", 0), Grow(8), then=Episode(("partitions_changed",))),
            step(Kill("b"), then=Episode(("member_gone",), moved=4)),
            step(Join("c", STATIC["c"]), then=Episode(("member_joined",), moved=4)),
            step(Restart("c"), then=Episode(("member_replaced",))),
            step(Join("d"), then=Episode(("member_joined",), moved=2)),
            step(Leave("d"), then=Episode(("member_gone",), moved=2)),
        ),
        CONSUMER,
    ),
    Scenario(
        "consumer-instrumented",
        "confluent-instrumented",
        (
            step(Join("a"), then=Episode(("group_started",))),
            step(Slow("a", SLOW_S), Join("b"), then=Episode(("member_joined",), moved=3, slow="a")),
            step(Slow("a", 0), Leave("b"), then=Episode(("member_left",), moved=3)),
        ),
        CONSUMER,
    ),
    Scenario(
        "share",
        "share",
        (
            step(Join("a"), then=Episode(("group_started",), generations=2)),
            step(Join("b"), then=Episode(("member_joined",), moved=3)),
            step(Leave("b"), then=Episode(("member_gone",), moved=3)),
            step(Join("c"), then=Episode(("member_joined",), moved=3)),
            step(Kill("c"), then=Episode(("member_gone",), moved=3)),
            # Partitions are prepared before they are shared: a slow coordinator has an epoch without them.
            step(Grow(8), then=Episode(("partitions_changed",)), before=Episode(("rejoin",), noop=True)),
        ),
    ),
    Scenario(
        "streams",
        "streams",
        (
            step(Join("a"), then=Episode(("group_started",), generations=2)),
            step(Join("b"), then=Episode(("member_joined",), moved=4)),
            step(Leave("b"), then=Episode(("member_gone",), moved=4)),
            step(Join("c"), then=Episode(("member_joined",), moved=4)),
            step(Kill("c"), then=Episode(("member_gone",), moved=4)),
        ),
        partitions=4,
        each=2,
    ),
    Scenario(
        "streams-timed",
        "streams-timed",
        (
            step(Join("a"), then=Episode(("group_started",))),
            step(Slow("a", SLOW_S / 3), Join("b"), then=Episode(("member_joined",), moved=3, slow="a")),
            step(Slow("a", 0), Leave("b"), then=Episode(("member_gone",), moved=3)),
            step(Grow(8), then=Episode(("partitions_changed",))),
            step(Join("c"), then=Episode(("member_joined",), moved=4)),
            step(Kill("c"), then=Episode(("member_gone",), moved=4)),
        ),
    ),
    Scenario(
        "consumer-assignor-change",
        "confluent",
        (
            step(Join("a", STATIC["a"] | UNIFORM), then=Episode(("group_started",))),
            step(Restart("a", RANGE), then=Episode(("member_replaced", "assignor_changed"), noop=SINCE_4_4)),
            step(Join("b", UNIFORM), then=Episode(("member_joined",), moved=3)),
            step(Leave("a"), then=Episode(("member_left",), moved=3)),
        ),
        CONSUMER,
    ),
    Scenario(
        "assignor-change",
        "confluent",
        (
            step(Join("a"), then=Episode(("group_started",))),
            step(Join("b"), then=Episode(("member_joined",), moved=3)),
            step(Leave("a"), then=Episode(("member_gone",), moved=3)),
            step(Join("a2", BOTH), then=Episode(("member_joined",), moved=3)),
            step(Leave("b"), then=Episode(("member_gone", "assignor_changed"), moved=3)),
            step(Join("b2", BOTH), then=Episode(("member_joined",), moved=3)),
        ),
        EAGER,
    ),
    Scenario(
        "migration",
        "confluent",
        (
            step(Join("a"), then=Episode(("group_started",))),
            step(Join("b"), then=Episode(("member_joined",), moved=3)),
            step(Join("c", MIGRATED), then=Episode(("member_joined",), moved=2)),
            step(Leave("a"), then=Episode(("member_gone",), moved=2)),
            step(Leave("b"), then=Episode(("member_gone",), moved=3)),
            step(Join("d", MIGRATED), then=Episode(("member_joined",), moved=3)),
            step(Join("e"), then=Episode(("member_joined",), moved=2)),
            step(Leave("c"), then=Episode(("member_gone",), moved=2)),
            step(Leave("d"), then=Episode(("member_gone",), moved=3)),
            step(Join("f"), then=Episode(("member_joined",), moved=3)),
        ),
        EAGER,
    ),
    Scenario(
        "migration-cooperative",
        "confluent",
        (
            step(Join("a"), then=Episode(("group_started",))),
            step(Join("c", MIGRATED), then=Episode(("member_joined",), moved=3)),
            step(Leave("a"), then=Episode(("member_gone",), moved=3)),
            step(Join("b"), then=Episode(("member_joined",), moved=3)),
            step(Leave("c"), then=Episode(("member_gone",), moved=3)),
        ),
        COOPERATIVE,
    ),
]


def _one_group_in_each_partition():
    """One group per partition of the offsets topic, except the partition of foreign records."""
    names = {offsets_partition(name): name for name in map("open-{}".format, range(200))}
    assert len(names) == PARTITIONS
    return [name for number, name in names.items() if number != FOREIGN_PARTITION]


@pytest.fixture(scope="module")
def runner():
    properties = {**BROKER, "offsets.topic.num.partitions": str(PARTITIONS)}
    with EmbeddedKafka(properties=properties) as kafka, ExitStack() as stack:
        scenario_runner = ScenarioRunner(
            kafka, stack, SCENARIOS, accepts=lambda group: offsets_partition(group) != FOREIGN_PARTITION
        )
        bootstrap, names = kafka.bootstrap_servers, [scenario_runner.group(each) for each in SCENARIOS]
        with open_transactions(bootstrap, _one_group_in_each_partition()), writing_bad_records(bootstrap, names):
            yield scenario_runner


@pytest.fixture(scope="module")
def outcomes(runner, request):
    """The results of each scenario that a selected test needs."""
    wanted = [item.callspec.params.get("scenario") for item in request.session.items if hasattr(item, "callspec")]
    return runner.run_all([each for each in SCENARIOS if each in wanted], attempts=3)


@pytest.fixture
def results(outcomes, scenario):
    """The results of the scenario's steps."""
    outcome = outcomes[scenario.name]
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)


@every_scenario
def test_the_published_episodes_are_exactly_the_expected_ones(results, scenario):
    expected, published = compare_episodes(results)
    assert published == expected


@every_scenario
def test_the_published_generations_are_those_of_the_topic(runner, results, scenario):
    published = [each["generation"] for result in results for each in result.events if each["kind"] == "generation"]
    numbers = runner.records.numbers(runner.group(scenario), results[-1].stable_ms)
    restarts = sum(1 for result in results for action in result.step.actions if isinstance(action, Restart))
    assert len(published) - len(set(published)) <= restarts
    assert sorted(set(published)) == numbers
    assert not [each for result in results for each in result.events if each["kind"] == "aborted"]


@every_scenario
def test_stalls_are_as_long_as_the_members_measured(runner, results, scenario):
    assert list(stall_differences(runner, scenario, results)) == []


@pytest.mark.parametrize(
    "scenario",
    [each for each in SCENARIOS if each.client in REPORTING],
    ids=lambda each: each.name,
)
def test_stalls_of_reporting_members_are_exact_unless_one_was_killed(results, scenario):
    killed = [any(isinstance(action, Kill) for action in result.step.actions) for result in results]
    assert [result.closing[-1]["stall"]["basis"] for result in results] == [
        "bound" if each else "exact" for each in killed
    ]


def test_unreadable_records_are_counted_and_the_observer_stays_ready(runner, outcomes):
    counted = {
        **dict.fromkeys(("2", "5", "8", "16", "22", "other"), ("rebalance_agent_decode_errors_total", "key_version")),
        **dict.fromkeys(("key_version", "value_version"), ("rebalance_agent_unknown_records_total", "unknown")),
    }
    for value, (name, label) in counted.items():
        eventually(lambda name=name, label=label, value=value: runner.observer.metric(name, **{label: value}) > 0)
    assert runner.observer.ready()


def test_every_field_of_a_record_of_this_kafka_is_known(runner, outcomes):
    assert runner.observer.metric("rebalance_agent_unknown_tagged_fields_total") == 0


def test_a_group_with_special_characters_in_its_name_is_shown(runner):
    name = 'a "group"\nof \\ two lines ' + "\N{SNOWMAN}" * 70
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    write(runner.kafka.bootstrap_servers, [generation(name, 7, 1)])
    eventually(lambda: runner.observer.metric("kafka_rebalance_generation", consumergroup=escaped) == 7)
