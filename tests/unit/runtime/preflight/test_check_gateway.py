"""`check` for a gateway: rejected settings, reachable brokers, and occupied ports."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from contextlib import contextmanager

import pytest

from rebalance_agent.cli import main
from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.admin_client import GroupListing
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.server import HttpServer
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.runtime.listeners.listen_addresses import listen_addresses
from rebalance_agent.runtime.listeners.web import WebApp
from rebalance_agent.runtime.preflight import gateway_checks as module
from rebalance_agent.runtime.preflight.findings import FindingStatus, exit_code
from rebalance_agent.runtime.preflight.gateway_checks import gateway_findings
from rebalance_agent.runtime.preflight.plan import findings
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from rebalance_agent.runtime.settings.listener_security import listener_tls
from rebalance_agent.tracking.observations import DescribedGroup, ListedGroup
from rebalance_agent.tracking.views import MemberLoad
from support.gateway.gatewaying import free_base
from support.gateway.transport import RawBroker
from support.kafka.certificates import Authority, needs_openssl

HOST = "127.0.0.1"
FREE = {"listen": f"{HOST}:0", "events_listen": f"{HOST}:0", "gateway_listen": f"{HOST}:0", "events_topic": ""}
OK, FAILED, SKIPPED = FindingStatus.OK, FindingStatus.FAILED, FindingStatus.SKIPPED


class Cluster:
    """Fake responses of the cluster."""

    nodes, groups, fails = {}, (), False

    def __init__(self, _properties):
        pass

    def brokers(self):
        if self.fails:
            raise ClusterError("reading metadata: SASL authentication required")
        return self.nodes

    def list_groups(self):
        listed = (ListedGroup(each.group, each.state, each.group_type) for each in self.groups)
        return GroupListing(tuple(listed), complete=True)

    def describe_groups(self, names):
        return [each for each in self.groups if each.group in names]


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(module, "Cluster", Cluster)
    for name, value in {"nodes": {}, "groups": (), "fails": False}.items():
        monkeypatch.setattr(Cluster, name, value)
    return Cluster


@contextmanager
def broker(answer=None):
    """A server that only responds to ApiVersions; yields its port."""
    ready, loop, stop = threading.Event(), asyncio.new_event_loop(), asyncio.Event()
    ports = []

    async def serve():
        one = await RawBroker(answer or (lambda frame: frame[4:8] + bytes(6))).start()
        ports.append(one.port)
        ready.set()
        await stop.wait()
        await one.stop()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait(10)
    yield ports[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)
    loop.close()


def group(name, assignor, kind=GroupType.CLASSIC):
    return DescribedGroup(name, GroupState.STABLE, kind, assignor, (MemberLoad("m", None, "c", "/h", {"t": (0,)}),))


def checked(port, **settings):
    chosen = GatewaySettings(**FREE | settings)
    found = list(gateway_findings(chosen, {"bootstrap.servers": f"{HOST}:{port}"}, SystemClock()))
    return {each.name: (each.status, each.detail) for each in found}, exit_code(found)


@pytest.mark.parametrize(
    "settings",
    [
        {"gateway_listen": "0.0.0.0:0"},
        {"gateway_tls_cert_file": "/no/such"},
        {"gateway_tls_cert_file": "/no/such", "gateway_tls_key_file": "/no/such"},
        {"kafka": {"security.protocol": "SSL", "ssl.ca.location": "/no/such"}},
        {"kafka": {}},
    ],
)
def test_settings_refused_by_a_gateway_fail_the_check_with_the_same_message(settings):
    chosen = GatewaySettings(**FREE | settings)
    properties = {"bootstrap.servers": "b:1", **chosen.kafka} if settings.get("kafka") != {} else {}
    with pytest.raises(InvalidInputError) as refused:
        listen_addresses(chosen, properties, SystemClock())
    (found,) = gateway_findings(chosen, properties, SystemClock())
    assert (found.status, found.detail) == (FAILED, str(refused.value))
    assert found.fix == f"correct {refused.value.field}"


def test_brokers_are_checked_with_the_clients_connection_without_a_login(cluster):
    cluster.fails = True
    with broker() as port:
        found, code = checked(port)
    assert found[f"gateway to {HOST}:{port}"] == (OK, f"{HOST}:{port} responds, without TLS")
    assert found["brokers"][0] is SKIPPED
    assert "until a client" in found["brokers"][1]
    assert code == 0


@pytest.mark.parametrize(
    ("answer", "reported"),
    [(lambda frame: b"HTTP/1.1 400 Bad", "the response does not follow Kafka's protocol"), (None, "port")],
)
def test_a_broker_address_without_the_kafka_protocol_is_a_failure(cluster, answer, reported):
    if answer:
        with broker(answer) as port:
            found, code = checked(port)
    else:
        with socket.create_server((HOST, 0)) as closed:
            port = closed.getsockname()[1]
        found, code = checked(port)
    status, detail = found[f"gateway to {HOST}:{port}"]
    assert (status, code) == (FAILED, 2)
    assert reported in detail
    assert "brokers" not in found


def test_each_broker_has_its_own_address_and_port_here(cluster, monkeypatch):
    base = free_base(4)
    monkeypatch.setattr(module, "ephemeral_ports", lambda: range(base + 3, 61_000))
    with broker() as port, socket.create_server((HOST, base + 2)):
        cluster.nodes = {1: (HOST, port), 2: (HOST, port), 3: ("a b", port), 70_000: (HOST, port)}
        found, code = checked(port, gateway_port_base=base)
    assert found["gateway to broker 1"][0] is OK
    assert found["gateway to broker 3"] == (FAILED, "'a b' is not a host name")
    assert found[f"port {base + 1} of broker 1"] == (OK, "is free")
    assert found[f"port {base + 2} of broker 2"] == (FAILED, "cannot listen: Address already in use")
    assert found[f"port {base + 3} of broker 3"][1].startswith("is free, but this system also uses")
    assert found[f"port {base + 70_000} of broker 70000"] == (FAILED, "there is no port with that number")
    assert code == 1


@needs_openssl
@pytest.mark.parametrize("secured", [False, True])
def test_ports_of_a_running_agent_are_no_failure(cluster, tmp_path, secured):
    made = Authority(tmp_path).issue("gateway")
    files = {"tls_cert_file": str(made.chain), "tls_key_file": str(made.key)} if secured else {}
    tls = listener_tls(GatewaySettings(**FREE | files), "tls_", SystemClock())
    web = HttpServer(HOST, 0, WebApp((), Readiness()), tls=tls)
    web.start()
    try:
        with broker() as port, socket.create_server((HOST, 0)) as own:
            listen = {"listen": f"{HOST}:{web.port}", "gateway_listen": f"{HOST}:{own.getsockname()[1]}"}
            found, _ = checked(port, **listen, **files)
    finally:
        web.stop()
    assert found[f"gateway_listen {listen['gateway_listen']}"] == (
        SKIPPED,
        "in use by a running agent; a second agent needs another address: --gateway-listen",
    )


@pytest.mark.parametrize(
    ("said", "status", "detail"),
    [
        (None, OK, "seats are not switched off"),
        ("off", OK, "off now for all groups"),
        ("of", FAILED, "so seats are off"),
    ],
)
def test_the_current_state_of_the_switch_of_seats_is_reported(cluster, tmp_path, said, status, detail):
    path = tmp_path / "switch"
    if said:
        path.write_text(said)
    with broker() as port:
        found, code = checked(port, gateway_seats="a=on", gateway_seats_switch_file=str(path))
    assert found[f"file {path}"][0] is status
    assert detail in found[f"file {path}"][1]
    assert (code == 0) is (status is OK)


@pytest.mark.parametrize(
    ("status", "wanted", "detail"),
    [(None, FAILED, "is not a pod of Kubernetes"), (200, OK, "can be listed"), (403, FAILED, "responded with 403")],
)
def test_leases_of_seats_are_listed_once_if_a_rule_needs_them(cluster, monkeypatch, status, wanted, detail):
    asked = []

    class Answers:
        def request(self, *request):
            asked.append(request)
            return status, {}

    if status is not None:
        monkeypatch.setattr(module.ApiServer, "of_pod", Answers)
    with broker() as port:
        found, code = checked(port, gateway_seats="a=on,seats.between.gateways=lease")
        without, _ = checked(port, gateway_seats="a=on")
    assert (found["leases of seats"][0], code) == (wanted, int(wanted is FAILED))
    assert detail in found["leases of seats"][1]
    assert "leases of seats" not in without
    assert asked == ([] if status is None else [("GET", "leases?limit=1")])


def test_seats_that_are_kept_over_stops_need_the_file(cluster, tmp_path):
    rule = "a=on,seats.keep.seconds=9,seats.keep.stopped=true"
    for more, status in (({}, FAILED), ({"gateway_seats_file": str(tmp_path / "seats")}, OK)):
        with broker() as port:
            found, code = checked(port, gateway_seats=rule, **more)
        assert (found[f"seats {rule}"][0], code) == (status, int(status is FAILED))


def test_a_file_of_seats_needs_a_folder_that_can_be_written(cluster, tmp_path):
    for path, status in ((tmp_path / "seats", OK), (tmp_path / "none" / "seats", FAILED)):
        with broker() as port:
            found, code = checked(port, gateway_seats="a=on", gateway_seats_file=str(path))
        assert found[f"file {path}"][0] is status
        assert (code == 0) is (status is OK)


def test_rules_that_do_not_fit_their_current_groups_fail(cluster):
    cluster.groups = (
        group("eager", "range"),
        group("kept", "cooperative-sticky"),
        group("other", "x"),
        group("n", "x"),
        group("hidden", "lag-aware"),
    )
    with broker() as port:
        between = "kept=on,seats.between.gateways=true"
        more = {"gateway_seats": f"eager=observe; {between}"}
        found, code = checked(port, gateway_groups="eager|kept=weighted-sticky; other|hidden=sticky", **more)
        assert checked(port)[0]["gateway_groups"][0] is SKIPPED
    assert "switch" not in str(found)
    assert found["rule eager|kept=weighted-sticky"] == (OK, "for clients that use the eager protocol")
    assert found["seats eager=observe"] == (OK, "for consumers behind this gateway")
    assert "Read on a group rebalance-agent.seats.*" in found[f"seats {between}"][1]
    assert found["group 'eager'"] == (OK, "1 member, range")
    assert found["group 'kept'"][0] is FAILED
    assert "set a cooperative strategy in gateway_groups" in found["group 'kept'"][1]
    assert found["group 'other'"][0] is FAILED
    assert found["group 'hidden'"][0] is SKIPPED
    assert "a gateway may have added lag-aware" in found["group 'hidden'"][1]
    assert "group 'n'" not in found
    assert code == 1


def test_groups_that_are_not_visible_are_reported(cluster):
    cluster.groups = (group("other", "range"),)  # brokers do not list groups without the right to describe them
    with broker() as port:
        found, code = checked(port, gateway_groups="orders=sticky")
        assert "groups" not in checked(port)[0]
    assert found["groups"][0] is SKIPPED
    assert "Describe on Group" in found["groups"][1]
    assert code == 0


def test_a_gateway_without_a_login_is_not_checked_for_one():
    settings = GatewaySettings(**FREE)
    with socket.create_server((HOST, 0)) as closed:
        port = closed.getsockname()[1]
    names = [each.name for each in findings(settings, {"bootstrap.servers": f"{HOST}:{port}"}, SystemClock())]
    assert f"gateway to {HOST}:{port}" in names
    assert f"server {HOST}:{port}" not in names


def test_the_command_line_accepts_the_role(capsys):
    free = [word for name, value in FREE.items() for word in (f"--{name.replace('_', '-')}", value)]
    assert main.main(["check", "--role", "gateway", "--json", *free]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in report["checks"] if each["status"] == "failed"] == ["gateway"]
    assert main.main(["check", "--role", "sidecar", "--json", *free[:4]]) == 0
    assert "gateway" not in capsys.readouterr().out
