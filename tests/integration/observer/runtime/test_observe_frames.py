"""Without permission to read the offsets topic, generations are known from gateways and instrumented leaders."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack, closing

import pytest

from rebalance_agent.clients.aiokafka import AIOKafkaConsumer
from rebalance_agent.instrumentation.leading import GENERATIONS_VARIABLE
from support.gateway.gatewaying import gatewaying
from support.gateway.running import Plain
from support.kafka.hidden_offsets import EVENTS, TRUTH, beside_the_truth, generations, hidden_offsets
from support.members.instrumented import Member
from support.observer.observing import beside, events, eventually, observing

pytestmark = pytest.mark.integration

SOON = {"describe_interval_seconds": 0.2, "list_all_interval_seconds": 0.5, "settle_seconds": 0.2}


@pytest.fixture(scope="module")
def kafka():
    with hidden_offsets("PLAIN") as kafka:
        yield kafka


@pytest.fixture
def stack():
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def watched(kafka, stack):
    return stack.enter_context(beside_the_truth(kafka, "PLAIN", **SOON))


@pytest.fixture
def gateway(kafka, stack, watched):
    return stack.enter_context(gatewaying(kafka.bootstrap_servers, events_topic=EVENTS, gateway_generations=True))


def join(stack, bootstrap, group, client):
    return stack.enter_context(closing(Plain(bootstrap, group, "t", **{"client.id": client})))


def shown(event):
    """What both sources have: the assignments, and what follows from them."""
    members = {member["member_id"]: (member["client_id"], member["assigned"]) for member in event["members"]}
    names = ("trigger", "moved", "needed", "revoked", "assigned", "unassigned", "assignor")
    return members, event["topics"], {name: event.get(name) for name in names}


def test_generations_that_a_gateway_sees_are_those_of_the_records(kafka, watched, gateway, stack):
    group = "led-behind-a-gateway"
    first = join(stack, gateway.bootstrap, group, "first")
    eventually(lambda: watched.metric("kafka_rebalance_generation", consumergroup=group) == 1)
    assert watched.source(group) == "frames"
    eventually(lambda: 1 in generations(kafka, EVENTS, group))
    second = join(stack, kafka.bootstrap_servers, group, "second")
    eventually(lambda: len(first.owned) == len(second.owned) == 2)
    eventually(lambda: 2 in generations(kafka, EVENTS, group))
    second.close()
    eventually(lambda: 3 in generations(kafka, EVENTS, group))
    eventually(lambda: 3 in generations(kafka, TRUTH, group))  # it waits for the first commits of the new owners
    seen, truth = generations(kafka, EVENTS, group), generations(kafka, TRUTH, group)
    assert {event["source"] for event in seen.values()} == {"frames"}
    assert sorted(seen) == sorted(truth) == [1, 2, 3]
    assert [shown(seen[number]) for number in (1, 2, 3)] == [shown(truth[number]) for number in (1, 2, 3)]
    assert [seen[number].get("previous_generation") for number in (1, 2, 3)] == [None, 1, 2]
    assert watched.metric("kafka_rebalance_completed_total", consumergroup=group, trigger="member_joined") == 1


class AiokafkaMember:
    """An instrumented consumer of aiokafka in a thread of its own."""

    def __init__(self, bootstrap, group, topic, url):
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._consume(bootstrap, group, topic, url)))
        self._thread.start()

    async def _consume(self, bootstrap, group, topic, url):
        consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=group, events_url=url)
        await consumer.start()
        while not self._stop.is_set():
            await consumer.getmany(timeout_ms=50)
        await consumer.stop()

    def close(self):
        self._stop.set()
        self._thread.join()


@pytest.mark.parametrize("member", [Member, AiokafkaMember])
def test_generations_that_an_instrumented_leader_reports_are_those_of_the_records(
    kafka, watched, stack, monkeypatch, member
):
    monkeypatch.setenv(GENERATIONS_VARIABLE, "true")
    group, bootstrap = f"led-by-{member.__name__}", kafka.bootstrap_servers
    sidecar = stack.enter_context(beside(bootstrap, events_topic=EVENTS))
    for number in (1, 2):
        stack.enter_context(closing(member(bootstrap, group, "t", f"http://127.0.0.1:{sidecar.role.events_port}")))
        eventually(lambda number=number: watched.metric("kafka_rebalance_members", consumergroup=group) == number)
    assert watched.source(group) == "frames"

    def both():
        seen, truth = generations(kafka, EVENTS, group), generations(kafka, TRUTH, group)
        settled = seen and all(len(each[max(each)]["members"]) == 2 for each in (seen, truth) if each)
        return (seen, truth) if settled and sorted(seen) == sorted(truth) else None

    seen, truth = eventually(both)
    assert {event["source"] for event in seen.values()} == {"frames"}
    assert [shown(seen[number])[:2] for number in seen] == [shown(truth[number])[:2] for number in seen]
    # On a slow machine the sidecar posts so late that the generation before has been forgotten.
    known = [number for number in seen if seen[number].get("moved") is not None]
    assert [shown(seen[number]) for number in known] == [shown(truth[number]) for number in known]


def test_nothing_is_invented_of_generations_that_no_gateway_sees(kafka, watched, gateway, stack):
    group = "led-elsewhere"
    behind = join(stack, gateway.bootstrap, group, "behind")
    eventually(lambda: watched.metric("kafka_rebalance_generation", consumergroup=group) == 1)
    beside = join(stack, kafka.bootstrap_servers, group, "beside")
    eventually(lambda: 2 in generations(kafka, EVENTS, group))
    behind.close()
    eventually(lambda: len(beside.owned) == 4)
    eventually(lambda: watched.source(group) == "admin")
    assert watched.metric("kafka_rebalance_generation", consumergroup=group) is None
    assert watched.metric("kafka_rebalance_members", consumergroup=group) == 1
    again = join(stack, gateway.bootstrap, group, "again")
    eventually(lambda: len(again.owned) == 2)
    eventually(lambda: 4 in generations(kafka, TRUTH, group))
    beside.close()
    eventually(lambda: 5 in generations(kafka, EVENTS, group))
    seen = generations(kafka, EVENTS, group)
    assert sorted(seen) == [1, 2, 5]
    assert seen[5].get("moved") is None, "its predecessor is unknown"
    kinds = {event["kind"] for event in events(kafka.bootstrap_servers, EVENTS, group=group)}
    assert "aborted" not in kinds


def test_a_group_without_members_is_described(kafka, watched, gateway, stack):
    group = "left-empty"
    member = join(stack, gateway.bootstrap, group, "only")
    eventually(lambda: watched.source(group) == "frames")
    member.close()
    eventually(lambda: watched.source(group) == "admin")
    assert watched.metric("kafka_rebalance_members", consumergroup=group) == 0


def test_the_source_is_the_one_that_is_set_and_no_degraded_mode(kafka, gateway, stack):
    """Both observers may read the offsets topic."""
    group = "by-the-set-source"
    usual = {"events_topic": EVENTS, "state_topic": "", **SOON}
    by_frames, described = (
        stack.enter_context(observing(kafka.bootstrap_servers, source=source, **usual))
        for source in ("frames", "describe")
    )
    join(stack, gateway.bootstrap, group, "first")
    eventually(lambda: by_frames.metric("kafka_rebalance_generation", consumergroup=group) == 1)
    eventually(lambda: described.metric("kafka_rebalance_members", consumergroup=group) == 1)
    assert (by_frames.source(group), described.source(group)) == ("frames", "admin")
    assert described.metric("kafka_rebalance_generation", consumergroup=group) is None
    for watched in (by_frames, described):
        eventually(watched.ready)
        assert "offsets_topic" not in watched.parts()
        assert watched.metric("rebalance_agent_degraded", mode="admin-only") in (None, 0)


def test_generations_from_while_no_observer_ran_are_published_once_after_the_restart(kafka, stack):
    topic, group, bootstrap = "led-restarts", "led-while-away", kafka.bootstrap_servers
    settings = {"events_topic": topic, "source": "frames", **SOON}
    behind = stack.enter_context(gatewaying(bootstrap, events_topic=topic, gateway_generations=True))

    def reported():
        return [
            each["generation"] for each in events(bootstrap, topic, group=group) if each["kind"] == "led_generation"
        ]

    with observing(bootstrap, **settings):
        first = join(stack, behind.bootstrap, group, "first")
        eventually(lambda: 1 in generations(kafka, topic, group))
    second = join(stack, behind.bootstrap, group, "second")
    eventually(lambda: len(first.owned) == len(second.owned) == 2 and reported() == [1, 2])
    with observing(bootstrap, read_only=True, **settings) as reading:
        eventually(lambda: reading.metric("kafka_rebalance_generation", consumergroup=group) == 2)
    with observing(bootstrap, **settings) as observer:
        eventually(lambda: 2 in generations(kafka, topic, group))
        assert observer.source(group) == "frames"
        assert observer.metric("kafka_rebalance_completed_total", consumergroup=group, trigger="member_joined") == 0
    with observing(bootstrap, **settings) as observer:
        eventually(lambda: observer.metric("kafka_rebalance_generation", consumergroup=group) == 2)
        second.close()
        eventually(lambda: 3 in generations(kafka, topic, group))
    published = [each for each in events(bootstrap, topic, group=group) if each["kind"] == "generation"]
    found = [(each["generation"], each.get("previous_generation")) for each in published if each["revision"] == 0]
    assert found == [(1, None), (2, 1), (3, 2)]
    assert [each.get("moved") for each in published if each["revision"] == 0] == [0, 2, 2]
