"""TLS to brokers with verified names, TLS from clients, and rejected settings that would disable either."""

from __future__ import annotations

import contextlib
import ssl

import pytest

from rebalance_agent.clock import SystemClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.gateway.transport.close_reason import CloseReason
from rebalance_agent.runtime.listeners.listen_addresses import listen_addresses
from rebalance_agent.runtime.settings.broker_tls import broker_tls
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from support.gateway.transport import Client, RawBroker, eventually, refused, request, run, through
from support.kafka.certificates import Authority, needs_openssl

LARGE = 3_000_000


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def broker_pair(authority):
    return authority.issue("broker")


def server(pair, clients=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.chain, pair.key)
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients.chain)
    return context


def trusting(authority, **more):
    return {"security.protocol": "SSL", "ssl.ca.location": str(authority.certificate.chain), **more}


async def passes(client, size=LARGE):
    frame = request(2, 5, 1, bytes(range(256)) * (size // 256))
    await client.send(frame)
    assert await client.receive() == frame[4:8] + b"answer to " + frame


@needs_openssl
@run
async def test_frames_are_forwarded_with_tls_on_either_side_and_on_both(authority, broker_pair):
    to_us = ssl.create_default_context(cafile=authority.certificate.chain)
    mine = server(broker_pair)
    for to_brokers, from_clients in ((True, False), (False, True), (True, True)):
        broker = await RawBroker().start(ssl=server(broker_pair) if to_brokers else None)
        changes = {
            "to_brokers": broker_tls(trusting(authority)) if to_brokers else None,
            "from_clients": (lambda: mine) if from_clients else None,
        }
        async with through(broker.port, **changes) as gateway:
            client = await Client.connect(gateway.port, **({"ssl": to_us} if from_clients else {}))
            await passes(client)
            await passes(client)
            await client.close()
        await broker.stop()


@needs_openssl
@run
async def test_an_untrusted_or_misnamed_broker_gets_no_byte(authority, tmp_path):
    other = Authority(tmp_path / "other").issue("stranger")
    misnamed = authority.issue("misnamed", "DNS:other.example")
    expired = authority.issue("expired", expired=True)
    for pair, reported in ((other, "unable to get"), (misnamed, "IP address mismatch"), (expired, "expired")):
        broker = await RawBroker().start(ssl=server(pair))
        async with through(broker.port, to_brokers=broker_tls(trusting(authority))) as gateway:
            client = await Client.connect(gateway.port)
            client.writer.write(b"\0\0\0\x09")
            assert (await client.ended())[0] == b""
            await eventually(lambda gateway=gateway: refused(gateway) == {CloseReason.UNREACHABLE: 1})
            assert reported in gateway.health.parts["bootstrap"]
            assert broker.came == b""
            await client.close()
        await broker.stop()


@needs_openssl
@run
async def test_a_broker_may_require_our_certificate(authority, broker_pair):
    mine = authority.issue("gateway")
    with_it = trusting(authority, **{"ssl.certificate.location": str(mine.chain), "ssl.key.location": str(mine.key)})
    broker = await RawBroker().start(ssl=server(broker_pair, authority.certificate))
    async with through(broker.port, to_brokers=broker_tls(with_it)) as gateway:
        client = await Client.connect(gateway.port)
        await passes(client)
        await client.close()
    await broker.stop()


@needs_openssl
@run
async def test_a_plain_client_at_a_tls_port_is_refused_without_affecting_others(broker_pair):
    broker = await RawBroker().start()
    mine = server(broker_pair)
    async with through(broker.port, from_clients=lambda: mine) as gateway:
        client = await Client.connect(gateway.port)
        client.writer.write(request(2, 5, 1))
        await client.ended()
        await eventually(lambda: refused(gateway) == {CloseReason.TLS: 1})
        await client.close()
    await broker.stop()


@pytest.mark.parametrize("protocol", ["", "PLAINTEXT", "sasl_plaintext"])
def test_without_tls_in_the_protocol_there_is_no_context(protocol):
    assert broker_tls({"security.protocol": protocol} if protocol else {}) is None


@needs_openssl
def test_tls_properties_are_used(authority):
    context = broker_tls(trusting(authority, **{"ssl.cipher.suites": "ECDHE+AESGCM"}))
    assert context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    authorities = [each["subject"] for each in context.get_ca_certs()]
    assert authorities == [((("commonName", "tests' authority"),),)], "no other certificate is trusted"
    pem = broker_tls({"security.protocol": "sasl_ssl", "ssl.ca.pem": authority.certificate.chain.read_text()})
    assert pem.get_ca_certs() == context.get_ca_certs()


@pytest.mark.parametrize(
    "wrong",
    [
        {"enable.ssl.certificate.verification": "false"},
        {"ssl.endpoint.identification.algorithm": "none"},
        {"ssl.ca.location": "/no/such"},
        {"ssl.keystore.location": "store.p12"},
        {"ssl.key.pem": "not-a-secret"},
        {"ssl.key.location": "/no/such"},
        {"ssl.cipher.suites": "no-such-cipher"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_settings_that_disable_verification_or_are_unusable_are_refused_by_name(wrong):
    with pytest.raises(InvalidInputError) as refusal:
        broker_tls({"security.protocol": "SSL", **wrong})
    assert refusal.value.field in {f"kafka.{next(iter(wrong))}", "kafka.ssl.certificate.location"}
    assert "not-a-secret" not in str(refusal.value)


def where(servers="b:1", **settings):
    properties = {"bootstrap.servers": servers} if servers else {}
    return listen_addresses(GatewaySettings(**settings), properties, SystemClock())


def test_the_gateway_listens_on_loopback_unless_a_flag_allows_more():
    assert where().listen == ("127.0.0.1", 29092)
    for host in ("0.0.0.0", "192.0.2.1", "[::]", "gateway.example"):
        with pytest.raises(InvalidInputError, match=r"gateway_listen: .*gateway_beyond_loopback"):
            where(gateway_listen=f"{host}:9092")
    given = where(gateway_listen="192.0.2.1:9092", gateway_beyond_loopback=True)
    assert (given.listen, given.advertised) == (("192.0.2.1", 9092), "192.0.2.1")


@needs_openssl
@run
async def test_a_client_without_a_required_certificate_reaches_no_broker(authority, broker_pair, tmp_path):
    files = {"gateway_tls_cert_file": str(broker_pair.chain), "gateway_tls_key_file": str(broker_pair.key)}
    given = where(**files, gateway_tls_client_ca_file=str(authority.certificate.chain))
    broker = await RawBroker().start()
    async with through(broker.port, from_clients=given.from_clients) as gateway:
        for number, own in enumerate((None, Authority(tmp_path / "other").issue("stranger")), 1):
            stranger = await Client.connect(gateway.port, ssl=_client(authority, own))
            stranger.writer.write(request(2, 5, 1))
            with contextlib.suppress(OSError):
                assert await stranger.reader.read() == b""
            await eventually(lambda number=number: refused(gateway) == {CloseReason.TLS: number})
            await stranger.close()
        assert broker.came == b""
        client = await Client.connect(gateway.port, ssl=_client(authority, authority.issue("consumer")))
        await passes(client)
        await client.close()
    await broker.stop()


def _client(authority, own):
    context = ssl.create_default_context(cafile=authority.certificate.chain)
    if own:
        context.load_cert_chain(own.chain, own.key)
    return context


def test_clients_get_a_reachable_address():
    with pytest.raises(InvalidInputError, match="gateway_advertised_host: is missing"):
        where(gateway_listen="0.0.0.0:9092", gateway_beyond_loopback=True)
    assert (
        where(
            gateway_listen="0.0.0.0:9092", gateway_beyond_loopback=True, gateway_advertised_host="gw.example"
        ).advertised
        == "gw.example"
    )


def test_a_gateway_without_bootstrap_servers_is_refused():
    with pytest.raises(InvalidInputError, match=r"kafka\.bootstrap\.servers: is missing"):
        where("")


def test_a_certificate_without_a_key_is_refused_by_name():
    with pytest.raises(InvalidInputError, match="gateway_tls_key_file: is missing"):
        where(gateway_tls_cert_file="/some/cert")
