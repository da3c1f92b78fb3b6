"""Every response with a broker's address has the gateway's port for that broker, always the same one."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest
from kafka.protocol.admin import DescribeClusterResponse
from kafka.protocol.consumer import FetchResponse
from kafka.protocol.metadata import ApiVersionsRequest, ApiVersionsResponse, FindCoordinatorResponse, MetadataResponse
from kafka.protocol.producer import ProduceRequest, ProduceResponse

from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import ListenError
from rebalance_agent.gateway.transport import broker_connections as brokers
from rebalance_agent.gateway.transport import broker_listeners as listeners
from rebalance_agent.gateway.transport import free_ports as ports
from rebalance_agent.gateway.transport.close_reason import CloseReason, RefusedError
from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import RequestHead, read_head
from rebalance_agent.gateway.transport.sharing.address_lookup import AddressLookup
from support.gateway.gatewaying import free_base
from support.gateway.transport import (
    Client,
    RawBroker,
    answer_of,
    eventually,
    frame_of,
    refused,
    request,
    run,
    through,
)
from support.observer.scrapes import families

HOST = "127.0.0.1"
NOWHERE = ("192.0.2.1", 9)
METADATA, FIND_COORDINATOR, DESCRIBE_CLUSTER, API_VERSIONS = 3, 10, 60, 18


def metadata(version, brokers):
    made = [
        MetadataResponse.MetadataResponseBroker(version=version, node_id=node, host=host, port=port, rack="r")
        for node, (host, port) in brokers.items()
    ]
    topics = [MetadataResponse.MetadataResponseTopic(version=version, name="t", partitions=[])]
    return MetadataResponse(version=version, brokers=made, topics=topics, cluster_id="c", controller_id=1)


def coordinators(version, found):
    if version < 4:
        ((_, node, host, port, error),) = found
        return FindCoordinatorResponse(version=version, error_code=error, node_id=node, host=host, port=port)
    made = [
        FindCoordinatorResponse.Coordinator(
            version=version, key=key, node_id=node, host=host, port=port, error_code=error
        )
        for key, node, host, port, error in found
    ]
    return FindCoordinatorResponse(version=version, coordinators=made)


def cluster(version, brokers, endpoint_type=1):
    made = [
        DescribeClusterResponse.DescribeClusterBroker(version=version, broker_id=node, host=host, port=port)
        for node, (host, port) in brokers.items()
    ]
    return DescribeClusterResponse(version=version, brokers=made, cluster_id="c", endpoint_type=endpoint_type)


def produced(version, nodes):
    made = [
        ProduceResponse.NodeEndpoint(version=version, node_id=node, host=host, port=port, rack="r")
        for node, (host, port) in nodes.items()
    ]
    return ProduceResponse(version=version, responses=[], node_endpoints=made)


def produce(version):
    message = ProduceRequest(version=version, acks=-1, timeout_ms=1, topic_data=[])
    message.with_header(correlation_id=7, client_id="app")
    return bytes(message.encode(header=True))


class Scripted:
    """A broker behind a gateway; the test sets its next responses."""

    def __init__(self, **options):
        self.options = options
        self.next = None

    async def __aenter__(self):
        self.broker = await RawBroker(lambda frame: answer_of(self.next, frame)).start()
        self.entered = through(self.broker.port, **self.options)
        self.gateway = await self.entered.__aenter__()
        self.client = await Client.connect(self.gateway.port)
        return self

    async def __aexit__(self, *_):
        await self.client.close()
        await self.entered.__aexit__(None, None, None)
        await self.broker.stop()

    async def ask(self, api_key, answer):
        self.next = answer
        frame = request(api_key, answer.version, 7) if api_key else produce(answer.version)
        await self.client.send(frame)
        return open_frame(type(answer), read_head(frame), await self.client.receive()).message


def where(brokers):
    return {getattr(each, "node_id", None) or each.broker_id: (each.host, each.port) for each in brokers}


REAL = {1: ("b1", 9092), 2: ("b2", 9093), 1001: ("b1001", 9092)}


@run
async def test_all_responses_have_the_same_port_for_a_node_in_every_version():
    async with Scripted() as it:
        first = where((await it.ask(METADATA, metadata(12, REAL))).brokers)
        assert first == {node: (HOST, it.gateway.ports[node]) for node in REAL}
        assert len(set(first.values())) == 3
        for version in range(MetadataResponse.max_version + 1):
            answer = await it.ask(METADATA, metadata(version, REAL))
            assert where(answer.brokers) == first
            assert [each.name for each in answer.topics] == ["t"]
        for version in range(DescribeClusterResponse.max_version + 1):
            assert where((await it.ask(DESCRIBE_CLUSTER, cluster(version, REAL))).brokers) == first
        for version in range(FindCoordinatorResponse.max_version + 1):
            answer = await it.ask(FIND_COORDINATOR, coordinators(version, [("g", 2, "b2", 9093, 0)]))
            assert where(answer.coordinators if version >= 4 else [answer])[2] == first[2]
        for version in range(10, ProduceResponse.max_version + 1):
            answer = await it.ask(0, produced(version, {1001: REAL[1001]}))
            assert where(answer.node_endpoints) == {1001: first[1001]}


@run
async def test_a_coordinator_may_be_requested_first():
    async with Scripted() as it:
        answer = await it.ask(FIND_COORDINATOR, coordinators(3, [("g", 2, "b2", 9093, 0)]))
        assert (answer.host, answer.port) == (HOST, it.gateway.ports[2])
        assert where((await it.ask(METADATA, metadata(9, REAL))).brokers)[2] == (HOST, answer.port)


@run
async def test_responses_without_a_coordinator_are_unchanged():
    async with Scripted() as it:
        answer = await it.ask(FIND_COORDINATOR, coordinators(3, [("", -1, "", -1, 15)]))
        assert (answer.node_id, answer.host, answer.port, answer.error_code) == (-1, "", -1, 15)
        batch = [("bad", -1, "", -1, 15), ("good", 1, "b1", 9092, 0)]
        bad, good = (await it.ask(FIND_COORDINATOR, coordinators(4, batch))).coordinators
        assert (bad.node_id, bad.host, bad.port, bad.error_code) == (-1, "", -1, 15)
        assert (good.host, good.port) == (HOST, it.gateway.ports[1])
        controllers = (await it.ask(DESCRIBE_CLUSTER, cluster(1, {1: NOWHERE}, endpoint_type=2))).brokers
        assert where(controllers) == {1: NOWHERE}


@run
async def test_a_brokers_port_leads_to_it_also_after_it_has_moved():
    async with Scripted() as it:
        here, there = await RawBroker().start(), await RawBroker().start()
        for target in (here, there):
            await it.ask(METADATA, metadata(9, {5: (HOST, target.port)}))
            client = await Client.connect(it.gateway.ports[5])
            await client.send(request(2, 1, 1))
            await client.receive()
            await client.close()
            assert target.connections == 1
            await target.stop()


@run
async def test_the_port_of_a_removed_broker_is_closed_after_its_last_connection():
    clock = FakeClock()
    async with Scripted(clock=clock) as it:
        other = await RawBroker().start()
        await it.ask(METADATA, metadata(9, {1: NOWHERE, 5: (HOST, other.port), 6: NOWHERE}))
        client = await Client.connect(it.gateway.ports[5])
        await client.send(request(2, 1, 1))
        await client.receive()
        clock.advance(int(listeners.GONE_SECONDS * 1000) + 1)
        it.gateway._listeners.sweep()
        assert set(it.gateway.ports) == {1, 5, 6}, "no metadata was received since: all brokers may be alive"
        await it.ask(METADATA, metadata(9, {1: NOWHERE}))
        it.gateway._listeners.sweep()
        assert set(it.gateway.ports) == {1, 5}, "a client is still connected to broker 5"
        await client.close()
        await eventually(lambda: not it.gateway._listeners._listeners[5].connections)
        it.gateway._listeners.sweep()
        assert set(it.gateway.ports) == {1}
        await other.stop()


@run
async def test_each_brokers_port_is_the_base_plus_its_node_id():
    base = free_base(8)
    async with Scripted(port_base=base) as it:
        await it.ask(METADATA, metadata(9, {8: NOWHERE}))
        assert it.gateway.ports == {8: base + 8}


def shut(gateway):
    names = [f"rebalance_agent_gateway_brokers{end}" for end in ("", "_shut")]
    return [families(gateway.counts.text())[name].samples[0].value for name in names]


async def nobody_takes(where):
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*where)


@run
async def test_a_broker_whose_port_is_in_use_is_down_for_clients_until_the_port_is_free(caplog):
    base = free_base(8)
    async with Scripted(port_base=base) as it:
        with socket.create_server((HOST, base + 7)):
            for _ in range(2):
                reported = where((await it.ask(METADATA, metadata(9, {7: NOWHERE, 8: NOWHERE}))).brokers)
                assert reported[8] == (HOST, base + 8)
                assert reported[7][1] not in (0, base + 7), "clients would send credentials to another program"
                await nobody_takes(reported[7])
            with pytest.raises(OSError, match="in use"):
                socket.create_server(reported[7])
            answer = await it.ask(FIND_COORDINATOR, coordinators(3, [("g", 7, *NOWHERE, 0)]))
            assert (answer.host, answer.port) == reported[7]
            assert shut(it.gateway) == [1, 1]
            assert it.gateway.health.parts["brokers"].startswith(f"broker 7: cannot listen on {HOST} port {base + 7}")
        it.gateway._listeners.sweep()
        assert it.gateway.ports == {7: base + 7, 8: base + 8}
        assert where((await it.ask(METADATA, metadata(9, {7: NOWHERE}))).brokers) == {7: (HOST, base + 7)}
        assert shut(it.gateway) == [2, 0]
        assert it.gateway.health.parts["brokers"] is None
        assert not refused(it.gateway)
    assert len([record for record in caplog.records if "clients of this gateway cannot reach" in record.message]) == 1


HOSTILE = [
    ("a\nb", 9092),
    ("\x1b]0;x", 9092),
    (".b", 9092),
    ("a..b", 9092),
    ("x" * 30_000, 9092),
    ("b", 0),
    ("b", -1),
    ("b", 70_000),
    ("b" * 64, 9092),
    ("/etc/passwd", 1),
]


@pytest.mark.parametrize("address", HOSTILE, ids=range(len(HOSTILE)))
@run
async def test_a_broker_with_an_invalid_address_is_down(address, caplog):
    async with Scripted() as it:
        reported = where((await it.ask(METADATA, metadata(9, {1: address, 2: NOWHERE}))).brokers)
        await nobody_takes(reported[1])
        assert reported[2] == (HOST, it.gateway.ports[2])
        assert shut(it.gateway) == [1, 1]
    assert all(record.message.isprintable() and len(record.message) < 300 for record in caplog.records)


@run
async def test_a_broker_that_moves_to_an_invalid_address_is_down_until_it_has_a_valid_one():
    async with Scripted() as it:
        first = where((await it.ask(METADATA, metadata(9, {1: NOWHERE}))).brokers)[1]
        for address, number in ((("a b", 1), [0, 1]), (NOWHERE, [1, 0])):
            reported = where((await it.ask(METADATA, metadata(9, {1: address}))).brokers)[1]
            assert (reported == first, shut(it.gateway)) == (address == NOWHERE, number)


@pytest.mark.parametrize("host", ["b", "kafka_1.example.", "::1", "fe80::1%eth0", "192.0.2.1", "b\u00fccher.example"])
def test_addresses_of_every_kind_can_be_connected_to(host):
    assert ports.address_problem((host, 9092)) == ""


@run
async def test_the_number_of_broker_ports_is_bounded(monkeypatch):
    monkeypatch.setattr(listeners, "NODES_MAX", 3)
    async with Scripted() as it:
        for first in (1, 3, 5):
            reported = where((await it.ask(METADATA, metadata(9, {first: NOWHERE, first + 1: NOWHERE}))).brokers)
        assert list(it.gateway.ports) == [1, 2, 3]
        await nobody_takes(reported[5])


@run
async def test_a_port_in_the_ephemeral_range_causes_a_warning(monkeypatch, caplog):
    base = free_base(3)
    monkeypatch.setattr(listeners, "ephemeral_ports", lambda: range(base + 2, 61_000))
    async with Scripted(port_base=base) as it:
        await it.ask(METADATA, metadata(9, {1: NOWHERE}))
        assert "choose a lower gateway_port_base" not in caplog.text
        await it.ask(METADATA, metadata(9, {1: NOWHERE, 2: NOWHERE, 3: NOWHERE}))
    assert f"port {base + 2} of broker 2 is in the range" in caplog.text


def test_the_systems_ephemeral_range_is_read(tmp_path):
    reported = tmp_path / "range"
    assert ports.ephemeral_ports(reported) == range(0)
    reported.write_text("32768\t60999\n")
    assert ports.ephemeral_ports(reported) == range(32_768, 61_000)
    reported.write_text("nonsense")
    assert ports.ephemeral_ports(reported) == range(0)


@run
async def test_a_connection_accepted_during_the_stop_is_closed():
    broker = await RawBroker().start()
    async with through(broker.port) as gateway:
        ours, theirs = socket.socketpair()
        gateway._accepted(ours)
        await gateway.close()
        assert ours.fileno() < 0
        theirs.close()
    await broker.stop()


@run
async def test_a_closed_gateway_opens_no_port():
    async with Scripted() as it:
        await it.gateway.close()
        await it.gateway.open_ports({1: NOWHERE})
        assert it.gateway.ports == {}


@run
async def test_a_bootstrap_port_in_use_is_reported():
    with socket.create_server((HOST, 0)) as taken, pytest.raises(ListenError, match="cannot listen on"):
        async with through(1, listen=(HOST, taken.getsockname()[1])):
            pass


@run
async def test_concurrent_clients_each_try_every_bootstrap_server(monkeypatch):
    broker, release, connect = await RawBroker().start(), [], brokers.connect

    async def connected(address, tls, lookup):
        if address == NOWHERE:
            release.append(asyncio.Event())
            await release[-1].wait()
            raise RefusedError(CloseReason.UNREACHABLE, "nobody is there")
        return await connect(address, tls, lookup)

    monkeypatch.setattr(brokers, "connect", connected)
    async with through(1, broker.port, bootstrap=(NOWHERE, (HOST, broker.port))) as gateway:
        clients = [await Client.connect(gateway.port) for _ in range(2)]
        await eventually(lambda: len(release) == 2)
        for client, each in zip(clients, list(release), strict=True):
            each.set()
            await client.send(request(12, 4, 1))
            assert (await client.receive())[:4] == struct.pack(">i", 1)
            await client.close()
        assert len(release) == 2
        assert not refused(gateway)
    await broker.stop()


@run
async def test_reachable_addresses_of_a_name_with_many_are_found(monkeypatch):
    monkeypatch.setattr(brokers, "CONNECT_SECONDS_MAX", 0.4)
    broker, loop = await RawBroker().start(), asyncio.get_running_loop()
    connect = loop.sock_connect
    silent = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("192.0.2.1", broker.port))]
    real = await loop.getaddrinfo("127.0.0.1", broker.port, type=socket.SOCK_STREAM)

    async def found(*_, **__):
        return [*silent, *real]

    async def connected(sock, address):
        await (asyncio.Event().wait() if address == silent[0][4] else connect(sock, address))

    monkeypatch.setattr(loop, "getaddrinfo", found)
    monkeypatch.setattr(loop, "sock_connect", connected)
    link = await brokers.connect(("kafka", broker.port), None, AddressLookup())
    await link.write(frame_of(request(18, 0, 1)))
    await eventually(lambda: broker.came)
    await link.close()
    real[:] = []
    with pytest.raises(RefusedError, match=r"kafka port .* did not respond within"):
        await brokers.connect(("kafka", broker.port), None, AddressLookup())
    await broker.stop()


@run
async def test_bootstrap_servers_are_tried_in_turn_starting_with_the_last_reachable_one():
    broker = await RawBroker().start()
    with socket.socket() as dead:
        dead.bind((HOST, 0))
        async with through(dead.getsockname()[1], broker.port) as gateway:
            for _ in range(2):
                client = await Client.connect(gateway.port)
                await client.send(request(2, 1, 1))
                await client.receive()
                await client.close()
            assert gateway._bootstrap[0] == (HOST, broker.port)
            await broker.stop()
            await eventually(lambda: True)
            client = await Client.connect(gateway.port)
            assert (await client.ended())[0] == b""
            assert refused(gateway) == {CloseReason.UNREACHABLE: 1}
            assert "bootstrap" in gateway.health.parts


def versions(version, apis, error_code=0):
    made = apis and [
        ApiVersionsResponse.ApiVersion(version=version, api_key=key, min_version=low, max_version=high)
        for key, low, high in apis
    ]
    more = {}
    if version >= 3:
        feature = ApiVersionsResponse.SupportedFeatureKey(version=version, name="f", min_version=0, max_version=9)
        more = {"supported_features": [feature], "finalized_features_epoch": 4}
    return ApiVersionsResponse(version=version, api_keys=made, error_code=error_code, **more)


@pytest.mark.parametrize("version", range(ApiVersionsResponse.max_version + 1))
@run
async def test_versions_are_capped_only_for_rewritten_responses(version):
    offered = [(0, 0, 99), (1, 4, 18), (3, 0, 12), (11, 0, 99), (78, 0, 3), (79, 0, 0), (76, 1, 1), (500, 3, 9)]
    async with Scripted() as it:
        answer = await it.ask(API_VERSIONS, versions(version, offered))
        assert [(each.api_key, each.min_version, each.max_version) for each in answer.api_keys] == [
            (0, 0, ProduceResponse.max_version),
            (FetchResponse.API_KEY, 4, 15),
            (3, 0, 12),
            (11, 0, 9),
            (78, 1, 2),
            (76, 1, 1),
            (500, 3, 9),
        ]
        if version >= 3:
            assert [each.name for each in answer.supported_features] == ["f"]
            assert answer.finalized_features_epoch == 4


@pytest.mark.parametrize("version", range(ApiVersionsResponse.max_version + 1))
@run
async def test_an_invalid_request_is_answered_in_its_own_version(version):
    async with Scripted() as it:
        for apis in ([(3, 0, 12)], None):
            assert (await it.ask(API_VERSIONS, versions(version, apis, error_code=42))).error_code == 42
        assert not refused(it.gateway)


@run
async def test_a_request_that_names_its_node_reaches_the_broker_as_it_is():
    asked = []

    def answer(frame):
        asked.append(bytes(frame))
        return answer_of(versions(4, [(API_VERSIONS, 0, 5), (3, 0, 99)]), frame)  # version 5 has the same form

    broker = await RawBroker(answer).start()
    async with through(broker.port) as gateway:
        client = await Client.connect(gateway.port)
        software, cluster, node = b"\2x" + b"\0021", b"\3id", struct.pack(">i", 2)
        frame = request(API_VERSIONS, 5, 7, b"\0" + software + cluster + node + b"\0")
        await client.send(frame)
        received = await client.receive()
        opened = open_frame(ApiVersionsResponse, RequestHead(API_VERSIONS, 4, 7), received)
        assert asked == [frame]
        assert [(each.api_key, each.max_version) for each in opened.message.api_keys] == [(18, 5), (3, 13)]
        await client.close()
    await broker.stop()


@run
async def test_a_future_version_of_api_versions_is_answered_with_the_known_ones():
    asked = []

    def answer(frame):
        asked.append(read_head(frame).api_version)
        return answer_of(versions(0, [(API_VERSIONS, 0, 9), (3, 0, 99)], error_code=35), frame)

    broker = await RawBroker(answer).start()
    async with through(broker.port) as gateway:
        client = await Client.connect(gateway.port)
        message = ApiVersionsRequest(version=4, client_software_name="x", client_software_version="1")
        message.with_header(correlation_id=7, client_id="app")
        frame = bytearray(message.encode(header=True))
        frame[2:4] = struct.pack(">h", 9)
        await client.send(bytes(frame))
        opened = open_frame(ApiVersionsResponse, read_head(bytes(frame)), await client.receive())
        assert asked[0] > 1_000, "a version that the broker cannot know either"
        assert opened.message.error_code == 35
        assert [(each.api_key, each.max_version) for each in opened.message.api_keys] == [(18, 5), (3, 13)]
        await client.close()
    await broker.stop()


@run
async def test_a_drain_continues_to_serve_and_ends_when_the_clients_are_gone(caplog):
    caplog.set_level("INFO")
    broker = await RawBroker().start()
    async with through(broker.port) as gateway:
        stop = asyncio.Event()
        running = asyncio.create_task(gateway.run(stop, 20))
        client = await Client.connect(gateway.port)
        stop.set()
        await asyncio.sleep(0.05)
        late = await Client.connect(gateway.port)
        for each in (client, late):
            await each.send(request(2, 1, 1))
            await each.receive()
        assert not running.done()
        assert (
            "waiting up to 20 s for clients to disconnect (open connections: 1); Ctrl-C again stops now" in caplog.text
        )
        await client.close()
        await late.close()
        await asyncio.wait_for(running, 10)
        with pytest.raises(ConnectionError):
            await Client.connect(gateway.port)
    await broker.stop()
