"""aiokafka's consumer with our strategies and events, on a real broker."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections import Counter

import aiokafka
import pytest
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import InconsistentGroupProtocolError, KafkaError
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer as PlainKafkaPython

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.clients.aiokafka import AIOKafkaConsumer
from rebalance_agent.groupprotocol.consumer_protocol import decode_subscription
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import count_partitions, pairs, topic_partitions
from rebalance_agent.model.subscription import GroupSubscription, MemberSubscription, TopicMetadata
from support.observer.sidecars import absent, arrives, reported

pytestmark = pytest.mark.integration

PATIENCE = 30.0
NUMBER = itertools.count(1)
EAGER = [name for name, each in STRATEGIES.items() if each.protocol is RebalanceProtocol.EAGER]


@pytest.fixture(scope="module")
def admin(kafka):
    return AdminClient({"bootstrap.servers": kafka.bootstrap_servers})


def create(admin, partitions, name=None):
    name = name or f"aio-topic-{next(NUMBER)}"
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(PATIENCE)
    return name


@pytest.fixture
def topic(admin):
    return create(admin, 100)


class Crew:
    """Members of one group in one event loop; remaining ones are stopped at the end."""

    def __init__(self, address, events_url):
        self.group = f"aio-group-{next(NUMBER)}"
        self.members = []
        self._address = address
        self._events_url = events_url

    def make(self, *topics, kind=AIOKafkaConsumer, **configs):
        if kind is AIOKafkaConsumer:
            configs.setdefault("events_url", self._events_url)
        configs = {"group_id": self.group, "heartbeat_interval_ms": 200, **configs}
        member = kind(*topics, bootstrap_servers=self._address, **configs)
        self.members.append(member)
        return member

    async def join(self, *topics, **configs):
        member = self.make(*topics, **configs)
        await asyncio.wait_for(member.start(), PATIENCE)
        return member

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_exception):
        await asyncio.gather(*(member.stop() for member in self.members))


@pytest.fixture
def crew(kafka, sidecar):
    return Crew(kafka.bootstrap_servers, sidecar.url)


async def until(condition):
    """Poll until a condition holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - there is no event for the condition
            await asyncio.sleep(0.05)


def sizes(*members):
    return [len(member.assignment()) for member in members]


class Listening(aiokafka.ConsumerRebalanceListener):
    """Records its calls, with ``async def`` methods."""

    def __init__(self):
        self.calls = []

    async def on_partitions_revoked(self, revoked):
        await asyncio.sleep(0.05)
        self.calls.append(("revoked", len(revoked)))

    async def on_partitions_assigned(self, assigned):
        self.calls.append(("assigned", len(assigned)))


@pytest.mark.parametrize("name", EAGER)
def test_every_eager_strategy_assigns_partitions_by_its_targets(admin, crew, sidecar, name):
    topics = {create(admin, 7): 7, create(admin, 4): 4}

    async def scenario():
        async with crew:
            members = [
                crew.make(*topics, partition_assignment_strategy=name, client_id=f"client-{place}")
                for place in range(3)
            ]
            await asyncio.wait_for(asyncio.gather(*(member.start() for member in members)), PATIENCE)
            await until(lambda: len({member._membership().generation for member in members}) == 1 and settled(members))
            return [(member._membership().member_id, given(member)) for member in members]

    group = GroupSubscription({topic: TopicMetadata(count) for topic, count in topics.items()}, ())

    def settled(members):
        by_id = {member._membership().member_id: given(member) for member in members}
        return promised(STRATEGIES[name], group, by_id)

    ended = asyncio.run(scenario())
    assert promised(STRATEGIES[name], group, dict(ended))
    events = arrives(sidecar, kind="assign", assignor=name, members=3)
    assert events[-1]["quality"]["unassigned"] == 0
    assert "error" not in events[-1]
    assert "user_data_errors" not in events[-1] or not events[-1]["user_data_errors"]


def given(member):
    return topic_partitions((each.topic, each.partition) for each in member.assignment())


def promised(strategy, group, by_id):
    """Whether every partition has as many owners as in the strategy's own plan, and members have the same loads."""
    group = GroupSubscription(
        group.topics, tuple(MemberSubscription(name, tuple(group.topics)) for name in sorted(by_id))
    )
    plan = strategy.assign(group)
    copies = Counter(partition for one in by_id.values() for partition in pairs(one))
    wanted = Counter(partition for one in plan.members.values() for partition in pairs(one))
    return copies == wanted and loads(by_id) == loads(plan.members)


def loads(by_id):
    return sorted(map(count_partitions, by_id.values()))


def test_weights_of_300_and_100_get_75_and_25(crew, topic, sidecar):
    async def scenario():
        async with crew:
            first, second = [
                await crew.join(
                    topic,
                    partition_assignment_strategy="weighted-sticky",
                    assignor_config={"assignment.consumer.weight": weight},
                )
                for weight in (300, 100)
            ]
            await until(lambda: sizes(first, second) == [75, 25])
            kept = first.assignment()
            third = await crew.join(
                topic,
                partition_assignment_strategy="weighted-sticky",
                assignor_config={"assignment.consumer.weight": 100},
            )
            await until(lambda: sizes(first, second, third) == [60, 20, 20])
            assert first.assignment() < kept

    asyncio.run(scenario())
    skews = [event["quality"]["skew_ratio"] for event in arrives(sidecar, 3, kind="assign")]
    assert skews == [1.0] * len(skews)


def test_a_missing_internal_topic_is_an_error_until_it_exists(admin, crew):
    source = create(admin, 3)
    changelog = f"{source}-state"

    async def scenario():
        async with crew:
            member = crew.make(
                source,
                partition_assignment_strategy="task-sticky",
                assignor_config={"assignment.task.subtopologies": f"count:{source}|changelog={changelog}"},
            )
            missing = f"InternalTopicError.*{changelog} needs 3 partitions, but does not exist"
            with pytest.raises(KafkaError, match=missing):
                await asyncio.wait_for(member.start(), PATIENCE)
            assert member.assignment() == set()
            assert changelog not in admin.list_topics(timeout=PATIENCE).topics
            create(admin, 3, changelog)
            async with asyncio.timeout(PATIENCE):
                while len(member.assignment()) < 3:
                    with contextlib.suppress(KafkaError):
                        await member.getmany(timeout_ms=200)

    asyncio.run(scenario())


def test_failover_moves_all_partitions_to_the_standby_and_back(crew, topic):
    def config(priority):
        return {
            "partition_assignment_strategy": "failover",
            "assignor_config": {"assignment.consumer.priority": priority},
        }

    async def scenario():
        async with crew:
            passive = await crew.join(topic, **config(1))
            assert sizes(passive) == [100]
            active = await crew.join(topic, **config(2))
            await until(lambda: sizes(passive, active) == [0, 100])
            equal = await crew.join(topic, **config(2))
            await until(lambda: sizes(passive, active, equal) == [0, 100, 0])
            await active.stop()
            await until(lambda: sizes(passive, equal) == [0, 100])
            await equal.stop()
            await until(lambda: sizes(passive) == [100])

    asyncio.run(scenario())


def test_an_equal_newcomer_as_leader_leaves_partitions_with_the_active_member(crew, topic):
    # The leader must read owned partitions from the others' subscriptions, which aiokafka itself does not.
    async def scenario():
        async with crew:
            active = await crew.join(topic, partition_assignment_strategy="failover")
            await asyncio.gather(*(crew.join(topic, partition_assignment_strategy="failover") for _ in range(3)))
            await until(lambda: sorted(sizes(*crew.members)) == [0, 0, 0, 100])
            assert sizes(active) == [100]

    asyncio.run(scenario())


def test_standbys_get_their_copies_and_take_over(crew, topic):
    config = {
        "partition_assignment_strategy": "copartitioned-sticky",
        "assignor_config": {"assignment.num.standbys": 1, "assignment.changelog.topics": topic},
    }

    async def scenario():
        async with crew:
            members = [await crew.join(topic, **config) for _ in range(3)]
            await until(
                lambda: sorted(sizes(*members)) == [33, 33, 34] and sum(len(one.standbys()) for one in members) == 100
            )
            gone, *left = members
            assert all(not one.standbys() & one.assignment() for one in members)
            owned, copies = gone.assignment(), {one: one.standbys() for one in left}
            await gone.stop()
            await until(lambda: sum(sizes(*left)) == 100)
            assert all(one.assignment() & owned == copies[one] & owned for one in left)

    asyncio.run(scenario())


def test_reported_loads_determine_the_balance(crew, topic):
    asked = []

    def loads(counts):
        asked.append(counts)
        return {topic: [97] + [1] * 97 + [0, 0]}

    async def scenario():
        async with crew:
            first = await crew.join(topic, partition_assignment_strategy="lag-aware", loads=loads)
            second = await crew.join(
                topic,
                partition_assignment_strategy="lag-aware",
                loads=loads,
                assignor_config={"assignment.max.count.factor": 2},
            )
            await until(lambda: max(sizes(first, second)) > 90 and sum(sizes(first, second)) == 100)

    asyncio.run(scenario())
    assert asked[0] == {topic: 100}


def test_callbacks_and_leaving_are_reported(crew, topic, sidecar):
    listening = Listening()

    async def scenario():
        async with crew:
            first = await crew.join(topic, client_id="first", listener=listening)
            second = await crew.join(topic, client_id="second", group_instance_id="here")
            await until(lambda: sizes(first, second) == [50, 50])
            await until(lambda: len(listening.calls) == 4)

    asyncio.run(scenario())
    assert listening.calls == [("revoked", 0), ("assigned", 100), ("revoked", 100), ("assigned", 50)]
    arrives(sidecar, 2, kind="member", callback="left")
    first = reported(sidecar, kind="member", client_id="first")
    assert [event["callback"] for event in first][:4] == ["assigned", "revoked", "assigned", "left"]
    revoked = first[1]
    assert revoked["timestamp_ms"] - revoked["started_ms"] >= 50
    assert revoked["partitions"] == {topic: "0-99"}
    assert [event["generation"] for event in first[:3]] == [1, 1, 2]
    assert all(event["group"] == crew.group and event["member_id"].startswith("first-") for event in first)
    assert {event["instance_id"] for event in reported(sidecar, kind="member", client_id="second")} == {"here"}


def test_aiokafka_logs_exceptions_of_a_listener(crew, topic, sidecar, caplog):
    class Raising(Listening):
        async def on_partitions_assigned(self, assigned):
            raise ValueError("the user's own")

    async def scenario():
        async with crew:
            member = await crew.join(topic, listener=Raising())
            await until(lambda: "the user's own" in caplog.text)
            assert sizes(member) == [100]

    with caplog.at_level(logging.ERROR, "aiokafka"):
        asyncio.run(scenario())
    (event,) = arrives(sidecar, kind="member", callback="assigned")
    assert event["error"] == "ValueError: the user's own"


def test_an_expelled_member_reports_lost_partitions(crew, topic, sidecar):
    async def scenario():
        async with crew:
            member = await crew.join(topic, client_id="idle", max_poll_interval_ms=1_000)
            await until(lambda: reported(sidecar, callback="lost"))
            await member.getmany(timeout_ms=10)
            await until(lambda: len(reported(sidecar, callback="assigned")) == 2)

    asyncio.run(scenario())
    assert reported(sidecar, callback="lost")[0]["partitions"] == {topic: "0-99"}


def test_a_member_with_several_strategies_joins_once(crew, topic, sidecar):
    async def scenario():
        async with crew:
            members = [
                await crew.join(topic, partition_assignment_strategy=["weighted-sticky", "failover", "range"])
                for _ in range(2)
            ]
            await until(lambda: sizes(*members) == [50, 50])
            assert {member._membership().generation for member in members} == {2}

    asyncio.run(scenario())
    assert {event["assignor"] for event in arrives(sidecar, 2, kind="assign")} == {"weighted-sticky"}


def test_strategies_are_changed_in_two_rolling_restarts(crew, topic, sidecar):
    async def scenario():
        async with crew:
            old = await crew.join(topic, partition_assignment_strategy="range")
            both = await crew.join(topic, partition_assignment_strategy=["weighted-sticky", "range"])
            await until(lambda: sizes(old, both) == [50, 50])
            await old.stop()
            new = await crew.join(topic, partition_assignment_strategy=["weighted-sticky", "range"])
            await until(lambda: sizes(both, new) == [50, 50])

    asyncio.run(scenario())
    arrives(sidecar, 1, kind="assign", assignor="weighted-sticky")
    assert reported(sidecar, kind="assign")[-1]["assignor"] == "weighted-sticky"


def test_aiokafkas_own_assignor_is_instrumented_unchanged(crew, topic, sidecar):
    async def scenario():
        async with crew:
            for _ in range(2):
                await crew.join(topic, partition_assignment_strategy=[RangePartitionAssignor])
            await until(lambda: sizes(*crew.members) == [50, 50])

    asyncio.run(scenario())
    assert arrives(sidecar, 2, kind="assign")[-1]["quality"]["spread"] == 0


def test_a_plain_aiokafka_member_in_the_group_works_as_before(crew, topic):
    async def scenario():
        async with crew:
            for kind in (AIOKafkaConsumer, aiokafka.AIOKafkaConsumer, AIOKafkaConsumer):
                await crew.join(topic, kind=kind)
            await until(lambda: sorted(sizes(*crew.members)) == [33, 33, 34])

    asyncio.run(scenario())


def test_truncated_and_unreadable_subscriptions_of_others_do_not_fail_the_rebalance(crew, topic, monkeypatch, caplog):
    async def scenario():
        async with crew:
            await crew.join(topic, partition_assignment_strategy="range", client_id="a")
            short = crew.make(topic, kind=aiokafka.AIOKafkaConsumer, partition_assignment_strategy=[Short])
            broken = crew.make(topic, kind=aiokafka.AIOKafkaConsumer, partition_assignment_strategy=[Broken])
            await asyncio.wait_for(asyncio.gather(short.start(), broken.start()), PATIENCE)
            await until(lambda: sizes(*crew.members) == [50, 50, 0])

    class Short(RangePartitionAssignor):
        @classmethod
        def metadata(cls, topics):
            return RangePartitionAssignor.metadata(topics).encode().replace(b"\0\0", b"\0\1", 1)

    class Broken(RangePartitionAssignor):
        @classmethod
        def metadata(cls, _topics):
            return b"\0\0\x7f"

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())
    assert "its subscription cannot be read" in caplog.text


def test_topics_with_invalid_names_are_not_assigned_and_fail_no_member(crew, topic, sidecar):
    class Odd(RangePartitionAssignor):
        @classmethod
        def metadata(cls, topics):
            return RangePartitionAssignor.metadata([*topics, "", "no topic!", "x" * 300, ".."])

    async def scenario():
        async with crew:
            await crew.join(topic, partition_assignment_strategy="range", client_id="a")
            await crew.join(topic, kind=aiokafka.AIOKafkaConsumer, partition_assignment_strategy=[Odd])
            await until(lambda: sizes(*crew.members) == [50, 50])

    asyncio.run(scenario())
    assert arrives(sidecar, 2, kind="assign")[-1]["partitions"] == 100


def test_a_member_without_an_assignment_from_the_leader_is_idle_and_continues(crew, topic, caplog):
    class Forgetful(RangePartitionAssignor):
        @classmethod
        def assign(cls, cluster, members):
            answer = RangePartitionAssignor.assign(cluster, members)
            return {name: each for name, each in answer.items() if name.startswith("lead")}

    async def scenario():
        async with crew:
            await crew.join(
                topic, kind=aiokafka.AIOKafkaConsumer, client_id="lead", partition_assignment_strategy=[Forgetful]
            )
            forgotten = await crew.join(topic, partition_assignment_strategy="range", client_id="other")
            assert sizes(forgotten) == [0]
            await crew.members[0].stop()
            await until(lambda: sizes(forgotten) == [100])

    asyncio.run(scenario())
    assert "its assignment cannot be read" in caplog.text


def test_the_leader_knows_topics_that_only_others_subscribe_to(admin, crew, topic):
    other = create(admin, 6)

    async def scenario():
        async with crew:
            leader = await crew.join(topic, partition_assignment_strategy="range")
            second = await crew.join(other, partition_assignment_strategy="range")
            await until(lambda: sizes(leader, second) == [100, 6])
            assert {member._membership().generation for member in crew.members} == {2}

    asyncio.run(scenario())


def test_a_pattern_follows_new_topics_and_topics_of_others(admin, crew, topic):
    prefix = f"aio-pattern-{next(NUMBER)}"
    create(admin, 4, f"{prefix}-a")

    async def scenario():
        async with crew:
            member = crew.make(metadata_max_age_ms=500, partition_assignment_strategy="range")
            member.subscribe(pattern=f"^{prefix}-.*")
            await asyncio.wait_for(member.start(), PATIENCE)
            await until(lambda: sizes(member) == [4])
            second = await crew.join(topic, partition_assignment_strategy="range")
            await until(lambda: sizes(member, second) == [4, 100])
            create(admin, 3, f"{prefix}-b")
            await until(lambda: sizes(member, second) == [7, 100])

    asyncio.run(scenario())


def test_kafka_pythons_members_and_ours_share_a_group(kafka, crew, topic):
    async def scenario():
        async with crew:
            ours = await crew.join(topic, partition_assignment_strategy="range")
            other = PlainKafkaPython(
                topic, bootstrap_servers=kafka.bootstrap_servers, group_id=crew.group, heartbeat_interval_ms=200
            )
            with contextlib.closing(other):
                async with asyncio.timeout(PATIENCE):
                    while sizes(ours) != [50] or len(other.assignment()) != 50:
                        await asyncio.to_thread(other.poll, 200)

    asyncio.run(scenario())


def test_two_consumers_of_one_process_share_nothing(kafka, sidecar, admin, topic):
    other = create(admin, 3)

    async def scenario():
        async with Crew(kafka.bootstrap_servers, sidecar.url) as one, Crew(kafka.bootstrap_servers, sidecar.url) as two:
            first = await one.join(
                topic,
                partition_assignment_strategy="weighted-sticky",
                assignor_config={"assignment.consumer.weight": 3},
            )
            second = await two.join(
                other,
                partition_assignment_strategy="weighted-sticky",
                assignor_config={"assignment.consumer.weight": 7},
            )
            subscriptions = [
                decode_subscription(member._partition_assignment_strategy[0].metadata([topic]))
                for member in (first, second)
            ]
            assert [each.owned_partitions for each in subscriptions] == [{topic: tuple(range(100))}, {other: (0, 1, 2)}]
            assert [each.user_data[:4] for each in subscriptions] == [b"\0\0\0\3", b"\0\0\0\7"]
            assert {event["group"] for event in arrives(sidecar, 2, kind="assign")} == {one.group, two.group}

    asyncio.run(scenario())


def test_without_a_sidecar_nothing_changes(crew, topic):
    async def scenario(url):
        async with crew:
            await crew.join(topic, events_url=url)
            await crew.join(topic, events_url=url)
            await until(lambda: sizes(*crew.members) == [50, 50])

    with absent() as url:
        asyncio.run(scenario(url))


def test_a_consumer_without_a_group_reports_nothing(crew, topic, sidecar):
    async def scenario():
        async with crew:
            member = await crew.join(topic, group_id=None)
            assert sizes(member) == [100]

    asyncio.run(scenario())
    assert sidecar.taken == []


def test_the_error_of_a_refused_member_names_the_strategies_of_each_member(crew, topic):
    async def scenario():
        async with crew:
            first = await crew.join(topic, partition_assignment_strategy="range", client_id="first")
            await until(first.assignment)
            other = crew.make(topic, partition_assignment_strategy="weighted-sticky", client_id="other")
            with pytest.raises(InconsistentGroupProtocolError) as refused:
                await asyncio.wait_for(other.start(), PATIENCE)
            crew.members.remove(other)
            with contextlib.suppress(InconsistentGroupProtocolError):
                await other.stop()
        return str(refused.value)

    text = asyncio.run(scenario())
    assert "this consumer offers weighted-sticky" in text
    assert "first offers range, so this consumer must list range." in text
