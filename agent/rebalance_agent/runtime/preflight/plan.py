"""Makes all checks of a role, in order: this machine, the servers, the cluster, the permissions, the sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rebalance_agent.clock import Clock
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.runtime.preflight.findings import Finding, failed, passed, skipped
from rebalance_agent.runtime.preflight.local_checks import local_findings
from rebalance_agent.runtime.preflight.rights_checks import rights_findings
from rebalance_agent.runtime.preflight.server_checks import ReachableServers, other_brokers, reach
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from rebalance_agent.runtime.settings.roles import AgentSettings, ObserverSettings
from rebalance_agent.runtime.settings.text_types import server_addresses
from rebalance_agent.runtime.sinks.publisher import events_producer

__all__ = ["findings"]


def findings(settings: AgentSettings, properties: Mapping[str, str], clock: Clock) -> Iterator[Finding]:
    """Yield the findings of a role, each as soon as it is made; librdkafka's ``properties`` are complete."""
    yield from local_findings(settings, clock)
    if isinstance(settings, GatewaySettings):
        from rebalance_agent.runtime.preflight.gateway_checks import gateway_findings  # noqa: PLC0415 - other roles run without kafka-python

        yield from gateway_findings(settings, properties, clock)
        if not settings.events_topic:
            return  # clients log in through the gateway, which may have no login of its own
    servers = server_addresses(properties)
    if not servers:
        yield _without_servers(settings)
        return
    if topic := settings.published_topic:
        yield from _refused_producer(topic, properties)
    tried: list[ReachableServers] = []
    for server in reach(servers, properties, clock):
        tried.append(server)
        yield server.finding
    clusters = {server.cluster_id for server in tried if server.finding.reached}
    if not clusters:
        yield skipped("cluster", "no server could be reached, so nothing more was checked")
        return
    brokers = {node: address for server in tried for node, address in (server.brokers or {}).items()}
    yield _cluster(clusters, brokers)
    for broker in other_brokers(brokers, servers, properties, clock):
        yield broker.finding
    try:
        yield from rights_findings(settings, properties, clock, len(brokers))
    except ClusterError as error:
        yield failed("rights", str(error), "run check again; if it fails again, look at the brokers' logs")


def _without_servers(settings: AgentSettings) -> Finding:
    """Return the finding for the case without servers: a sidecar may work without a cluster, an observer cannot."""
    if isinstance(settings, ObserverSettings) and not settings.idle:
        return failed("cluster", "no bootstrap.servers are set", "add --bootstrap-servers HOST:PORT,...", reached=False)
    return skipped("cluster", "no bootstrap.servers are set, so the agent works without Kafka")


def _refused_producer(topic: str, properties: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding if an idempotent producer refuses the properties; a consumer may still accept them."""
    try:
        events_producer(properties)
    except InvalidInputError as error:
        purpose = "publishes each event exactly once"
        yield failed(f"events_topic {topic}", str(error), f"correct {error.field}", purpose)


def _cluster(clusters: set[str], brokers: Mapping[int, tuple[str, int]]) -> Finding:
    if len(clusters) > 1:
        several = f"the servers belong to different clusters: {', '.join(sorted(clusters))}"
        return failed("cluster", several, "keep only the servers of one cluster in bootstrap.servers")
    return passed("cluster", f"id {min(clusters)}, {len(brokers)} broker{'s' * (len(brokers) != 1)}")
