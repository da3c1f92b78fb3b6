"""Checks a gateway's own requirements: its address, TLS on both sides, rules, brokers, ports."""

from __future__ import annotations

import asyncio
import os
import ssl
import struct
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.gateway.explain_rules import hidden_assignor, rewrite_obstacle
from rebalance_agent.gateway.gateway_server import ListenAddresses
from rebalance_agent.gateway.groups import Rules, parse_rules
from rebalance_agent.gateway.seat_rules import KEEP_STOPPED, Between, SeatRule, parse_seat_rules
from rebalance_agent.gateway.seating.leases.api_server import ApiServer
from rebalance_agent.gateway.seating.switch_file import read_switch
from rebalance_agent.gateway.transport.addresses import Address
from rebalance_agent.gateway.transport.api_versions import API_VERSIONS
from rebalance_agent.gateway.transport.broker_connections import connect
from rebalance_agent.gateway.transport.close_reason import RefusedError
from rebalance_agent.gateway.transport.free_ports import PORT_MAX, address_problem, ephemeral_ports
from rebalance_agent.gateway.transport.sharing.address_lookup import AddressLookup
from rebalance_agent.model.group import SEAT_LOCKS_PREFIX, GroupState
from rebalance_agent.runtime.listeners.listen_addresses import listen_addresses
from rebalance_agent.runtime.preflight.findings import Finding, FindingStatus, failed, passed, skipped
from rebalance_agent.runtime.preflight.local_checks import free_address
from rebalance_agent.runtime.preflight.server_checks import SERVERS_MAX
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from rebalance_agent.ui.words import plural

__all__ = ["gateway_findings"]

GROUPS_MAX = 20
"""Maximum number of groups to check for all rules together: a pod has a few groups."""

ANSWER_SECONDS = 5.0
"""Longest wait for a broker's ApiVersions answer, in seconds."""

_HEAD = struct.Struct(">ihhih")
_REQUEST = _HEAD.pack(_HEAD.size - 4, API_VERSIONS, 0, 7, -1)
"""ApiVersions v0, which brokers answer before any login."""


def gateway_findings(settings: GatewaySettings, properties: Mapping[str, str], clock: Clock) -> Iterator[Finding]:
    """Yield the findings of the gateway's own checks, which use the functions that refuse settings at startup."""
    try:
        where = listen_addresses(settings, properties, clock)
    except InvalidInputError as error:
        yield failed("gateway", str(error), f"correct {error.field}", "clients connect to it")
        return
    yield free_address(settings, "gateway_listen", settings.gateway_listen, "clients connect to it first")
    if settings.gateway_tls_cert_file:
        yield passed(f"file {settings.gateway_tls_cert_file}", "can be read and used")
    rules = parse_rules(settings.gateway_groups)
    for rule in rules:
        how = rule.strategy.protocol.value
        yield passed(f"rule {rule}", f"for clients that use the {how} protocol")
    for seats in parse_seat_rules(settings.gateway_seats):
        yield from _seats(seats, settings)
    if switch := settings.gateway_seats_switch_file:
        yield _switch(switch)
    if seats_file := settings.gateway_seats_file:
        yield _seats_file(Path(seats_file))
    if not list(rules):
        yield skipped("gateway_groups", "no group gets a strategy: frames are only forwarded")
    servers = [*_reached({f"{host}:{port}": (host, port) for host, port in where.bootstrap}, where.to_brokers)]
    yield from servers
    if any(server.reached for server in servers):
        yield from _cluster(settings, Cluster(properties), where, rules)


def _seats(rule: SeatRule, settings: GatewaySettings) -> Iterator[Finding]:
    group = f" and others: the consumers' user needs Read on a group {SEAT_LOCKS_PREFIX}*"
    others = {Between.NO: "", Between.GROUP: group, Between.LEASE: " and others in this namespace"}[rule.between]
    name = f"seats {rule}"
    if rule.keep_stopped and not settings.gateway_seats_file:
        yield failed(
            name, f"{KEEP_STOPPED} has no effect", "set --gateway-seats-file", "a restarted pod takes its previous seat"
        )
    else:
        yield passed(name, f"for consumers behind this gateway{others}")
    if rule.between is Between.LEASE:
        yield _leases()


def _leases() -> Finding:
    """Return whether the pod's service account may use Lease objects."""
    name = "leases of seats"
    fix = "bind a role with get, list, create, update and delete on leases to the pod's service account"
    purpose = "gateways coordinate seats with Lease objects"
    try:
        status, _ = ApiServer.of_pod().request("GET", "leases?limit=1")
    except (InvalidInputError, ConnectionError) as error:
        return failed(name, str(error), fix, purpose)
    if status != HTTPStatus.OK:
        return failed(name, f"Kubernetes' API server responded with {status}", fix, purpose)
    return passed(name, "can be listed", purpose)


def _switch(path: str) -> Finding:
    """Return whether the switch file turns seats off now; this is an error only if the file cannot be understood."""
    name, switch = f"file {path}", read_switch(path)
    if not switch.understood:
        return failed(name, f"{switch.reason}, so seats are off", "write on or off to the file, or remove it")
    if switch.reason:
        return passed(name, "seats are off now for all groups")
    return passed(name, "does not exist, or contains on: seats are not switched off")


def _seats_file(path: Path) -> Finding:
    """Return whether the file with the gateway's seats can be replaced, for which its folder must be writable."""
    name, purpose = f"file {path}", "a restarted gateway reads its seats from it"
    if os.access(path.parent, os.W_OK | os.X_OK):
        return passed(name, "its folder is writable", purpose)
    return failed(name, f"the folder {path.parent} is not writable", "correct --gateway-seats-file", purpose)


def _cluster(settings: GatewaySettings, cluster: Cluster, where: ListenAddresses, rules: Rules) -> Iterator[Finding]:
    try:
        brokers = cluster.brokers()
    except ClusterError as error:
        yield skipped("brokers", f"unknown until a client's first request: {error}")
        return
    tried = dict(sorted(brokers.items())[:SERVERS_MAX])
    yield from _reached({f"broker {node}": address for node, address in tried.items()}, where.to_brokers)
    if where.port_base:
        yield from (_port(where.port_base + node, node, settings) for node in tried)
    if len(brokers) > SERVERS_MAX:
        left = len(brokers) - SERVERS_MAX
        yield skipped("more brokers", f"{left} of {len(brokers)} brokers and their ports were not checked")
    yield from _groups(cluster, rules)


def _groups(cluster: Cluster, rules: Rules) -> Iterator[Finding]:
    """Yield one finding per group that a rule matches: whether the rule can apply to the group's current state."""
    try:
        names = sorted(listed.group for listed in cluster.list_groups().groups if rules.of(listed.group))
        described = cluster.describe_groups(names[:GROUPS_MAX]) if names else []
    except ClusterError as error:
        yield skipped("groups", f"it is unknown whether the rules can apply to their groups: {error}")
        return
    if list(rules) and not names:
        yield skipped(
            "groups",
            "no group matches a rule now, or this principal may not describe the groups (Describe on Group)",
        )
    for now in described:
        if now.state is GroupState.DEAD or (rule := rules.of(now.group)) is None:
            continue
        name, purpose = f"group {now.group[:200]!r}", f"it gets {rule.strategy.name}"
        if problem := rewrite_obstacle(rule, now):
            yield failed(name, problem, "correct --gateway-groups, or the clients", purpose)
        elif hidden := hidden_assignor(rule, now):
            yield skipped(name, f"it is unknown whether the rule can apply: {hidden}")
        else:
            yield passed(name, f"{plural(len(now.members), 'member')}, {now.assignor or 'no assignor'}", purpose)
    if len(names) > GROUPS_MAX:
        left = len(names) - GROUPS_MAX
        yield skipped("more groups", f"{left} of {len(names)} groups were not checked")


def _port(port: int, node: int, settings: GatewaySettings) -> Finding:
    name, fix = f"port {port} of broker {node}", "choose another base: --gateway-port-base"
    purpose = "clients reach the broker through it"
    if port > PORT_MAX:
        return failed(name, "there is no port with that number", fix, purpose)
    host = settings.gateway_listen.rpartition(":")[0]
    finding = free_address(settings, "gateway_port_base", f"{host}:{port}", purpose)
    detail, ephemeral = finding.detail, ephemeral_ports()
    if finding.status is FindingStatus.OK and port in ephemeral:
        detail += (
            f", but this system also uses {ephemeral.start} to {ephemeral.stop - 1} for outgoing connections; a lower "
            "--gateway-port-base avoids conflicts"
        )
    return Finding(name, finding.status, purpose, detail, fix=fix if finding.fix else "")


def _reached(addresses: Mapping[str, Address], tls: ssl.SSLContext | None) -> Iterator[Finding]:
    """Yield one finding per address, in order; all addresses are tried at the same time."""

    async def try_all() -> list[str]:
        return await asyncio.gather(*(_trouble(address, tls) for address in addresses.values()))

    how = "its certificate is trusted" if tls else "without TLS"
    for (name, (host, port)), problem in zip(addresses.items(), asyncio.run(try_all()), strict=True):
        full, purpose = f"gateway to {name}", "the gateway forwards its clients' connections to this address"
        if problem:
            fix = "correct bootstrap.servers, security.protocol or ssl.*"
            yield failed(full, problem, fix, purpose, reached=False)
        else:
            yield passed(full, f"{host}:{port} responds, {how}", purpose, reached=True)


async def _trouble(address: Address, tls: ssl.SSLContext | None) -> str:
    """Return why the gateway cannot connect a client to this address; an empty string if it can."""
    if problem := address_problem(address):
        return problem
    try:
        connection = await connect(address, tls, AddressLookup())
    except RefusedError as error:
        return str(error)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await connection.write(_REQUEST)
            answer = await connection.read(_HEAD.size)
    except (TimeoutError, ConnectionError):
        answer = b""
    finally:
        connection.abort()
    if answer[4:8] == _REQUEST[8:12]:
        return ""
    return "the response does not follow Kafka's protocol" if answer else "it accepts connections, but does not respond"
