"""Everything that is checked of a role, in order: this machine, the way to the cluster, the cluster, the rights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rebalance_agent.clock import Clock
from rebalance_agent.errors import ClusterError
from rebalance_agent.runtime.check.findings import Finding, Status
from rebalance_agent.runtime.check.granted import rights_findings
from rebalance_agent.runtime.check.local import local_findings
from rebalance_agent.runtime.check.servers import Reached, other_brokers, reach, servers_of
from rebalance_agent.runtime.settings import AgentSettings

__all__ = ["findings"]


def findings(settings: AgentSettings, properties: Mapping[str, str], clock: Clock) -> Iterator[Finding]:
    """One finding after the other, as they are made; librdkafka's ``properties`` are complete."""
    yield from local_findings(settings, clock)
    servers = servers_of(properties)
    if not servers:
        yield Finding("cluster", Status.SKIPPED, detail="no bootstrap.servers are set: the agent idles")
        return
    reached: list[Reached] = []
    for each in reach(servers, properties, clock):
        reached.append(each)
        yield each.finding
    clusters = {each.cluster_id for each in reached if each.finding.reached}
    if not clusters:
        yield Finding("cluster", Status.SKIPPED, detail="no server could be reached, so nothing more is known")
        return
    brokers = {node: address for each in reached for node, address in (each.brokers or {}).items()}
    yield _cluster(clusters, brokers)
    for each in other_brokers(brokers, servers, properties, clock):
        yield each.finding
    try:
        yield from rights_findings(settings, properties, clock)
    except ClusterError as error:
        yield Finding("rights", Status.FAILED, detail=str(error), fix="look after the cluster, and check again")


def _cluster(clusters: set[str], brokers: Mapping[int, str]) -> Finding:
    if len(clusters) > 1:
        several = f"the servers belong to different clusters: {', '.join(sorted(clusters))}"
        return Finding("cluster", Status.FAILED, detail=several, fix="leave one cluster's in bootstrap.servers")
    return Finding("cluster", Status.OK, detail=f"id {min(clusters)}, {len(brokers)} broker{'s' * (len(brokers) != 1)}")
