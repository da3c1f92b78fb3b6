"""One broker's failure does not hide the others' responses, and connections are opened again after failures."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from rebalance_agent.cluster.describing.broker_client import RENEW_AFTER, BrokerClient
from rebalance_agent.errors import ClusterError

pytest.importorskip("kafka")


class FakeManager:
    """kafka-python's connections, to brokers that answer with their node ids, unless an error is set for them."""

    def __init__(self, cluster):
        self.cluster = SimpleNamespace(brokers=lambda: [SimpleNamespace(node_id=node) for node in (2, 1)])
        self.broker_version_data = SimpleNamespace(api_versions={69: (0, 1)})
        self._cluster = cluster

    def bootstrap(self, _timeout_ms):
        self._cluster.opened += 1
        if self._cluster.unreachable:
            raise TimeoutError("no broker")

    def run(self, coroutine):
        return asyncio.run(coroutine)

    def send(self, _request, node_id):
        if isinstance(error := self._cluster.errors.get(node_id), LookupError):
            raise error
        return self._answer(node_id, error)

    async def _answer(self, node, error):
        if error:
            raise error
        return node

    def close(self):
        self._cluster.closed += 1


@pytest.fixture
def cluster(monkeypatch):
    cluster = SimpleNamespace(errors={}, unreachable=False, opened=0, closed=0)
    monkeypatch.setattr("kafka.net.manager.KafkaConnectionManager", lambda _net, **_settings: FakeManager(cluster))
    return cluster


@pytest.fixture
def client(cluster):
    client = BrokerClient({}, 3.0)
    yield client
    client.close()


BOTH = [(1, "one"), (2, "two")]


def test_responses_are_in_the_order_of_the_requests(client, cluster):
    assert (client(BOTH), client(BOTH[::-1])) == ([1, 2], [2, 1])
    assert (client.nodes(), cluster.opened) == ([1, 2], 1)


@pytest.mark.parametrize("error", [TimeoutError("timed out"), KeyError("unknown broker")])
def test_the_error_of_one_broker_stands_in_place_of_its_response(client, cluster, error):
    cluster.errors[2] = error
    one, two = client(BOTH)
    assert (one, type(two), str(two)) == (1, ClusterError, f"broker 2: {error}")
    assert cluster.closed == 0, "kafka-python opens the connection again"


def test_a_broker_that_keeps_failing_gets_new_connections_after_a_while(client, cluster):
    cluster.errors[2] = TimeoutError("refused")
    for _ in range(RENEW_AFTER):
        client(BOTH)
    assert cluster.closed == 1
    client(BOTH)
    assert cluster.opened == 2


def test_no_response_at_all_is_an_error_and_closes_the_connections(client, cluster):
    cluster.errors |= {1: TimeoutError("timed out"), 2: TimeoutError("timed out")}
    with pytest.raises(ClusterError, match="broker 1: timed out"):
        client(BOTH)
    assert cluster.closed == 1
    cluster.errors.clear()
    assert client(BOTH) == [1, 2]


def test_brokers_that_cannot_be_reached_are_an_error(client, cluster):
    cluster.unreachable = True
    with pytest.raises(ClusterError, match="no broker"):
        client.nodes()
    assert cluster.closed == 1


def test_the_newest_known_version_is_used(client):
    assert (client.newest(69, range(2)), client.newest(69, range(1)), client.newest(89, range(1))) == (1, 0, None)
