"""The gateway answers telemetry requests in place of brokers that do not, in the order of the connection."""

from __future__ import annotations

import gzip
import math
from contextlib import asynccontextmanager

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.pushing_member import CallbackMaxima, PushingMember
from rebalance_agent.gateway.telemetry.client_values import CALLBACK_MAXIMA, REBALANCES
from rebalance_agent.gateway.telemetry.labelled_metrics import LABELLED_BYTES_MAX
from rebalance_agent.gateway.telemetry.push_error import PushOutcome
from rebalance_agent.gateway.telemetry.pushed_bytes import PUSH_BYTES_MAX
from rebalance_agent.gateway.telemetry.telemetry_clients import TelemetryClients
from rebalance_agent.gateway.telemetry.telemetry_frames import TelemetryFrames
from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR
from rebalance_agent.groupprotocol.wire.primitives import ZERO_UUID, uuid_text
from rebalance_agent.model.events import Callback
from rebalance_agent.model.reported.client_metrics import ClientMetrics
from rebalance_agent.model.reported.member_software import ClientSoftware
from support.gateway.transport import Client, NoGroups, RawBroker, eventually, frame_of, refused, request, run, through
from support.observer.scrapes import families
from support.telemetry.otlp import gauge, metrics_data
from support.telemetry.requests import (
    JAVA,
    LIBRDKAFKA,
    error_of,
    get_request,
    greeting,
    offered,
    push_request,
    subscription,
    with_apis,
)

API_VERSIONS, GET, PUSH, LIST_OFFSETS = 18, 71, 72, 2
INTERVAL_S = 15
LATENCY = "org.apache.kafka.consumer.coordinator.rebalance.latency.max"
PUSHED = metrics_data(gauge(LATENCY, 1500.0), gauge("org.apache.kafka.consumer.other", 1), group_id="orders")


class Measured(NoGroups):
    """Keeps what members pushed."""

    def __init__(self):
        self.taken = []

    def pushed(self, member, maxima, metrics):
        self.taken.append((member, maxima, metrics))


class Members(NoGroups):
    """Treats each ListOffsets as a member's request; the first one has its timeout."""

    def wants(self, head):
        return head.api_key == LIST_OFFSETS

    async def request(self, head, frame, ask):
        self.member = ("orders", "c1", 0.0 if self.member else 300.0)
        return frame


class Broker(RawBroker):
    """Offers ``apis``, and echoes other requests."""

    def __init__(self, *apis, error_code=0):
        super().__init__(self._answer)
        self.apis, self.error_code, self.keys = apis or (API_VERSIONS,), error_code, []

    def _answer(self, frame):
        self.keys.append(read_head(frame).api_key)
        if self.keys[-1] == API_VERSIONS:
            return with_apis(frame, *self.apis, error_code=self.error_code)
        return frame[4:8] + b"the broker's"


@asynccontextmanager
async def talking(*apis, telemetry_s=INTERVAL_S, software=LIBRDKAFKA, version=3, error_code=0, groups=NoGroups):
    """A client that has requested API versions; ``client.offered``: the versions in the response."""
    broker, clock = await Broker(*apis, error_code=error_code).start(), FakeClock()
    async with through(broker.port, groups=groups, clock=clock, telemetry_s=telemetry_s) as gateway:
        client = await Client.connect(gateway.port)
        try:
            hello = greeting(software, version)
            client.offered = offered(hello, await asked(client, hello))
            client.clock, client.gateway, client.broker = clock, gateway, broker
            yield client
            assert not refused(gateway)
        finally:
            await client.close()
            await broker.stop()


async def asked(client, frame):
    await client.send(frame)
    return await client.receive()


async def pushed(client, metrics=PUSHED, **changes):
    """The error code of a push by a client that has requested its subscription."""
    if not hasattr(client, "asked"):
        client.asked = subscription(await asked(client, get_request()))
    fields = {"instance_id": client.asked.client_instance_id, "subscription_id": client.asked.subscription_id}
    return error_of(await asked(client, push_request(metrics=metrics, **fields | changes)))


def outcomes(gateway):
    samples = families(gateway.counts.text())["rebalance_agent_gateway_telemetry_pushes_total"].samples
    return {sample.labels["outcome"]: sample.value for sample in samples if sample.value}


@run
async def test_telemetry_is_offered_in_addition_to_the_brokers_apis():
    async with talking(API_VERSIONS, LIST_OFFSETS) as client:
        assert client.offered == [API_VERSIONS, LIST_OFFSETS, GET, PUSH]


@pytest.mark.parametrize(
    "case",
    [
        {"telemetry_s": 0},
        {"software": ("librdkafka", "2.5.0")},
        {"software": ("sarama", "1.43.0")},
        {"version": 2},
        {"error_code": 35},
    ],
    ids=str,
)
def test_telemetry_is_not_offered(case):
    @run
    async def check():
        async with talking(API_VERSIONS, **case) as client:
            assert client.offered == [API_VERSIONS]
            assert (await asked(client, get_request(correlation_id=7)))[4:] == b"the broker's"

    check()


@run
async def test_a_broker_with_telemetry_gets_its_requests():
    for own in ((GET,), (PUSH,), (GET, PUSH)):
        async with talking(API_VERSIONS, *own) as client:
            assert client.offered == [API_VERSIONS, *own]
            for frame in (get_request(), push_request(ZERO_UUID, 1, PUSHED)):
                assert (await asked(client, frame))[4:] == b"the broker's"
            assert client.broker.keys == [API_VERSIONS, GET, PUSH]


@run
async def test_a_client_gets_an_id_and_a_subscription_without_a_request_to_the_broker():
    async with talking(software=JAVA) as client:
        first = subscription(await asked(client, get_request()))
        assert first.client_instance_id != ZERO_UUID
        assert (first.error_code, first.accepted_compression_types, first.push_interval_ms) == (0, (1,), 15_000)
        assert (first.telemetry_max_bytes, first.delta_temporality) == (PUSH_BYTES_MAX, 0)
        assert LATENCY in first.requested_metrics
        again = subscription(await asked(client, get_request(first.client_instance_id)))
        assert again == first, "the client keeps its id"
        assert subscription(await asked(client, get_request())).client_instance_id != first.client_instance_id
        assert client.broker.keys == [API_VERSIONS]


@pytest.mark.parametrize("codec", [0, 1])
def test_a_push_becomes_series_with_group_client_id_and_address(codec):
    @run
    async def check():
        async with talking() as client:
            content = gzip.compress(PUSHED) if codec else PUSHED
            assert await pushed(client, content, codec=codec, client_id="c1") == NO_ERROR
            (family,) = families(client.gateway.telemetry.text()).values()
            (sample,) = family.samples
            assert (sample.name, sample.value) == ("kafka_rebalance_member_client_rebalance_seconds", 1.5)
            assert sample.labels == {
                "consumergroup": "orders", "client_id": "c1", "host": "127.0.0.1", "stat": "max",
            }  # fmt: skip
            assert client.broker.keys == [API_VERSIONS]

    check()


@run
async def test_the_last_push_of_a_client_removes_its_series():
    async with talking() as client:
        await pushed(client)
        assert await pushed(client, terminating=1) == NO_ERROR
        assert client.gateway.telemetry.text() == b""


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"subscription_id": 5}, PushOutcome.UNKNOWN_SUBSCRIPTION),
        ({"codec": 4}, PushOutcome.UNSUPPORTED_COMPRESSION),
        ({"metrics": bytes(PUSH_BYTES_MAX + 1)}, PushOutcome.TOO_LARGE),
        ({"metrics": gzip.compress(bytes(2**20)), "codec": 1}, PushOutcome.TOO_LARGE),
        ({"metrics": b"\xff"}, PushOutcome.INVALID),
    ],
)
def test_a_refused_push_has_an_error_code_and_the_connection_stays_open(changes, outcome):
    @run
    async def check():
        async with talking() as client:
            assert await pushed(client, **changes) == outcome.error_code != NO_ERROR
            assert outcomes(client.gateway) == {outcome: 1}
            client.clock.advance(INTERVAL_S * 1000)
            assert await pushed(client) == NO_ERROR

    check()


@run
async def test_a_client_that_pushes_too_often_is_throttled():
    async with talking() as client:
        assert await pushed(client) == NO_ERROR
        assert await pushed(client) == PushOutcome.THROTTLED.error_code
        client.clock.advance(INTERVAL_S * 1000)
        assert await pushed(client) == NO_ERROR
        assert outcomes(client.gateway) == {PushOutcome.ACCEPTED: 2, PushOutcome.THROTTLED: 1}


@run
async def test_a_push_refused_for_its_content_is_also_throttled():
    async with talking() as client:
        client.clock.advance(60_000)
        assert await pushed(client, b"\xff") == PushOutcome.INVALID.error_code
        assert await pushed(client, b"\xff") == PushOutcome.THROTTLED.error_code
        assert client.gateway.telemetry.text() == b""


@run
async def test_a_client_continues_after_a_restart_of_the_gateway_with_the_same_settings():
    async with talking() as client:
        await pushed(client)
        known = client.asked
    async with talking() as client:
        client.asked = known
        assert await pushed(client) == NO_ERROR


@run
async def test_clients_without_a_group_have_no_series():
    async with talking() as client:
        assert await pushed(client, metrics_data(gauge(LATENCY, 1.0))) == NO_ERROR
        assert client.gateway.telemetry.text() == b""
        assert await pushed(client) == PushOutcome.THROTTLED.error_code, "the client is known"


@run
async def test_long_names_are_shortened():
    async with talking() as client:
        data = metrics_data(gauge(LATENCY, 1.0), group_id="g" * 30_000)
        await pushed(client, data, client_id="c" * 30_000)
        (family,) = families(client.gateway.telemetry.text()).values()
        assert max(map(len, family.samples[0].labels.values())) < 300


@pytest.mark.parametrize(("resources", "outcome"), [(500, PushOutcome.ACCEPTED), (5_000, PushOutcome.TOO_LARGE)])
def test_a_push_with_a_long_client_id_and_many_resources_is_passed_within_a_bound(resources, outcome):
    """Frames of 34 and 43 kB; without the bounds, the client id in each resource makes 49 MB and 491 MB of them."""
    passed, counted = [], []
    clients = TelemetryClients(FakeClock(), INTERVAL_S, passes=lambda push, host: passed.append((len(push), host)))
    frames = TelemetryFrames(clients, counted.append)
    frames.connected("10.0.0.1")
    frames.greeted(ClientSoftware(*JAVA))
    frames.offered(())
    asked = get_request()
    instance = subscription(frames.answer(read_head(asked), asked))
    ids = instance.client_instance_id, instance.subscription_id
    push = push_request(*ids, b"\x0a\x00" * resources, client_id="c" * 32_767).replace(b"c" * 32_767, b"\xff" * 32_767)
    frames.answer(read_head(push), push)
    assert counted == [outcome]
    assert [host for size, host in passed if size < LABELLED_BYTES_MAX] == ["10.0.0.1"][
        : outcome is PushOutcome.ACCEPTED
    ]
    assert len(passed) <= 1


@run
async def test_a_connection_has_one_client():
    """Clients choose their instance ids, so one connection could otherwise take the places of all clients."""
    async with talking() as client:
        assert await pushed(client) == NO_ERROR
        other = uuid_text(bytes(range(16)))
        assert await pushed(client, instance_id=other) == PushOutcome.THROTTLED.error_code
        client.clock.advance(INTERVAL_S * 1000)
        assert await pushed(client) == NO_ERROR
        assert await pushed(client, instance_id=other) == PushOutcome.THROTTLED.error_code
        again = await Client.connect(client.gateway.port)
        hello = greeting()
        await asked(again, hello)
        again.asked = client.asked
        client.clock.advance(INTERVAL_S * 1000)
        assert await pushed(again) == NO_ERROR, "a client may reconnect with its id"
        await again.close()


@run
async def test_responses_keep_their_order_with_100_requests_in_flight():
    """Between the broker's responses; the broker responds only once all requests have been sent to the gateway."""
    async with talking() as client:
        await pushed(client)
        client.broker.reading.clear()
        frames = []
        for number in range(100):
            push = push_request(client.asked.client_instance_id, 5, PUSHED, correlation_id=number)
            get = get_request(client.asked.client_instance_id, number)
            frames.append([push, request(LIST_OFFSETS, 5, number), get, request(LIST_OFFSETS, 6, number)][number % 4])
        before = len(client.broker.came)
        await client.send(*frames)
        client.broker.reading.set()
        answers = [await client.receive() for _ in frames]
        assert [answer[:4] for answer in answers] == [frame[4:8] for frame in frames]
        assert [answer[4:] == b"the broker's" for answer in answers] == [number % 2 == 1 for number in range(100)]
        own = [frame for number, frame in enumerate(frames) if number % 2]
        assert client.broker.came[before:] == b"".join(map(frame_of, own))


@run
async def test_an_unreadable_request_ends_only_its_connection():
    broker = await Broker().start()
    async with through(broker.port, telemetry_s=INTERVAL_S) as gateway:
        hello = greeting()
        broken, other = [await Client.connect(gateway.port) for _ in range(2)]
        for client in (broken, other):
            await asked(client, hello)
        await broken.send(push_request(ZERO_UUID, 1, PUSHED)[:-20])
        await broken.ended()
        assert refused(gateway) == {"malformed": 1}
        assert subscription(await asked(other, get_request())).error_code == NO_ERROR
        for client in (broken, other):
            await client.close()
    await broker.stop()


@run
async def test_a_members_library_and_poll_limit_are_known_while_its_connection_is_open_also_without_telemetry():
    async with talking(groups=Members, telemetry_s=0) as client:
        assert client.gateway.telemetry.text() == b""
        for _ in range(2):
            await asked(client, request(LIST_OFFSETS, 5, 1))
        family, limits = families(client.gateway.telemetry.text()).values()
        (sample,), (limit,) = family.samples, limits.samples
        assert (limit.name, limit.value) == ("kafka_rebalance_member_client_poll_limit_seconds", 300)
        name, version = LIBRDKAFKA
        assert (sample.name, sample.value) == ("kafka_rebalance_member_client_info", 1)
        assert sample.labels == {
            "consumergroup": "orders", "client_id": "c1", "host": "127.0.0.1", "software": name, "version": version,
        }  # fmt: skip
        await client.close()
        await eventually(lambda: client.gateway.telemetry.text() == b"")


@run
async def test_a_connection_belongs_to_the_member_that_it_named_last():
    class Changing(Members):
        async def request(self, head, frame, ask):
            self.member = ("orders", f"c{head.correlation_id}", 300.0)
            return frame

    async with talking(groups=Changing) as client:
        for number in (1, 2):
            await asked(client, request(LIST_OFFSETS, 5, number))
        for family in families(client.gateway.telemetry.text()).values():
            assert [sample.labels["client_id"] for sample in family.samples] == ["c2"]


@run
async def test_a_member_that_names_no_library_has_no_info():
    async with talking(groups=Members, version=2) as client:
        await asked(client, request(LIST_OFFSETS, 5, 1))
        assert list(families(client.gateway.telemetry.text())) == ["kafka_rebalance_member_client_poll_limit_seconds"]


@pytest.mark.parametrize("static", [{}, {"group_instance_id": "static"}])
def test_a_push_of_a_member_has_its_longest_callbacks_in_seconds(static):
    longest = gauge(CALLBACK_MAXIMA[Callback.REVOKED], 1500.0), gauge(CALLBACK_MAXIMA[Callback.ASSIGNED], math.nan)

    @run
    async def check():
        groups = Measured()
        async with talking(software=JAVA, groups=lambda: groups) as client:
            for names in ({}, {"group_id": "orders"}, {"group_member_id": "m1"}):
                assert await pushed(client, metrics_data(*longest, **names, **static)) == NO_ERROR
                client.clock.advance(INTERVAL_S * 1000)
            assert groups.taken == [], "not a member, or a client that does not name it"
            names = {"group_id": "orders", "group_member_id": "m1"}
            assert await pushed(client, metrics_data(*longest, **names, **static)) == NO_ERROR
            member = PushingMember("orders", "m1", static.get("group_instance_id"), client.asked.client_instance_id)
            assert groups.taken == [(member, CallbackMaxima({Callback.REVOKED: 1.5}), ClientMetrics())]
            client.clock.advance(INTERVAL_S * 1000)
            assert await pushed(client, metrics_data(*longest, gauge(REBALANCES, 1), **names, **static)) == NO_ERROR
            assert groups.taken[1:] == [(member, CallbackMaxima({Callback.REVOKED: 1.5}, 1.0), ClientMetrics())]

    check()


@pytest.mark.parametrize("named", ["group_member_id", "member_id"])  # the names of Java's client and of librdkafka
@run
async def test_a_push_of_a_member_has_the_values_for_its_events(named):
    prefix = "org.apache.kafka.consumer."
    values = {
        "coordinator.rebalance.latency.max": 3500.0,
        "coordinator.failed.rebalance.total": 2.0,
        "time.between.poll.max": math.nan,
        "last.poll.seconds.ago": 12.0,
        "poll.idle.ratio.avg": 0.25,
        "coordinator.commit.latency.max": 1e300,
    }
    groups = Measured()
    async with talking(software=JAVA, groups=lambda: groups) as client:
        points = [gauge(f"{prefix}{name}", value) for name, value in values.items()]
        assert await pushed(client, metrics_data(*points, group_id="orders", **{named: "m1"})) == NO_ERROR
    ((member, _, metrics),) = groups.taken
    assert member.member_id == "m1"
    assert metrics == ClientMetrics(3.5, 2.0, last_poll_seconds=12.0, idle_ratio=0.25)
