"""Makes findings about permissions, from the operations that brokers allow and from a read of the offsets topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.acls import principal_of
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.describing.epoch_describer import EpochDescriber
from rebalance_agent.cluster.name_filters import GroupFilter
from rebalance_agent.cluster.topic_reader import BEGINNING, TopicReader
from rebalance_agent.errors import AccessDeniedError, ClusterError, InvalidInputError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.runtime.preflight.findings import Finding, FindingStatus, failed
from rebalance_agent.runtime.preflight.probes import ProbeResult, RightsProbe, prove
from rebalance_agent.runtime.preflight.source_checks import source_findings, source_rights
from rebalance_agent.runtime.settings.rights import (
    BLIND_MODES,
    EVERYTHING,
    Right,
    acl_command,
    agent_rights,
    may_be_blind,
)
from rebalance_agent.runtime.settings.roles import AgentSettings, ObserverSettings

__all__ = ["rights_findings"]

READ_S = 5.0
"""Longest wait, in seconds, for a first record of the offsets topic, or for the topic's end."""

READ_WAIT_S = 0.1
READ_MAX = 100
NOWHERE = -1

_STATUS = {
    ProbeResult.HELD: FindingStatus.OK,
    ProbeResult.MISSING: FindingStatus.MISSING,
    ProbeResult.UNKNOWN: FindingStatus.SKIPPED,
    ProbeResult.UNUSED: FindingStatus.SKIPPED,
}


def rights_findings(
    settings: AgentSettings, properties: Mapping[str, str], clock: Clock, brokers: int
) -> Iterator[Finding]:
    """Yield one finding per permission, and for an observer one per source. ``brokers``: the number of brokers.

    The check of an observer that can see no group fails: the observer would run, but never be ready.

    Raises:
        ClusterError: the cluster stopped answering.
    """
    cluster = Cluster(properties)
    rights = agent_rights(settings)
    principal, servers = principal_of(properties), properties.get("bootstrap.servers", "")
    verdicts: dict[str, ProbeResult] = {}
    for right, proof in prove(rights, cluster.access).items():
        seen = _seen(right, proof, settings, properties, cluster, clock)
        verdicts[str(right)] = seen.verdict
        missing = seen.verdict is ProbeResult.MISSING
        effects = (right.lost, right.mode, acl_command(right, principal, servers)) if missing else ()
        status, detail = _STATUS[seen.verdict], seen.detail
        if missing and right.optional:
            status, detail = FindingStatus.SKIPPED, f"optional, not granted: {right.lost}"
        yield Finding(str(right), status, right.why, detail, *effects)
    yield from _blind_findings([right for right in rights if verdicts[str(right)] is ProbeResult.MISSING])
    if not isinstance(settings, ObserverSettings):
        return
    of_sources = source_rights(settings)
    others = [right for right in of_sources.values() if str(right) not in verdicts]
    verdicts |= {
        str(right): _seen(right, proof, settings, properties, cluster, clock).verdict
        for right, proof in prove(others, cluster.access).items()
    }
    probes = {source: verdicts[str(right)] for source, right in of_sources.items()}
    yield from source_findings(settings, probes, brokers, _shown(settings, cluster)[1], _no_epochs(cluster))


def _no_epochs(cluster: Cluster) -> str:
    """Return why groups whose coordinator assigns cannot be described with epochs; an empty string if they can."""
    try:
        describer = EpochDescriber(cluster.broker_client())
    except InvalidInputError as error:
        return f"{error.field} {error.problem}"
    try:
        listing = describer.list_groups()
    except ClusterError as error:
        return str(error)
    finally:
        describer.close()
    return "" if listing.complete else "a broker did not list its groups"


def _blind_findings(missing: Sequence[Right]) -> Iterator[Finding]:
    """Yield a finding that no group is visible, if all permissions that show groups are ``missing``."""
    if not may_be_blind(missing):
        return
    names = " and ".join(str(right) for right in missing if right.mode in BLIND_MODES)
    yield failed(
        "groups",
        f"no group is visible, because {names} are denied; the observer would not become ready",
        "grant at least one of the two with its command above; --acl-script prints the commands of all permissions",
        "the observer reports groups",
    )


def _seen(
    right: Right,
    proof: RightsProbe,
    settings: AgentSettings,
    properties: Mapping[str, str],
    cluster: Cluster,
    clock: Clock,
) -> RightsProbe:
    """Return the probe's result, with details from the resource itself where it can be read."""
    if proof.verdict is ProbeResult.MISSING:
        return proof
    if (right.operation, right.name) == ("Read", OFFSETS_TOPIC):
        return _read(properties, clock)
    if (right.operation, right.name) == ("Describe", EVERYTHING) and isinstance(settings, ObserverSettings):
        if right.resource == "Topic":
            return RightsProbe(proof.verdict, _and(proof.detail, f"{len(cluster.identify()[1])} topics visible"))
        listed, shown = _shown(settings, cluster)
        return RightsProbe(proof.verdict, _and(proof.detail, f"{listed} groups listed, the observer shows {shown}"))
    return proof


def _read(properties: Mapping[str, str], clock: Clock) -> RightsProbe:
    try:
        with TopicReader(properties, OFFSETS_TOPIC, {}) as reader:
            partitions = reader.partitions()
            if not partitions:
                return RightsProbe(
                    ProbeResult.UNKNOWN, "the topic does not exist yet: brokers create it for the first group"
                )
            reader.begin(dict.fromkeys(range(partitions), BEGINNING))
            # A record moves its partition's position; the end of an empty partition also moves that partition's
            # position.
            reader.positions = dict.fromkeys(range(partitions), NOWHERE)
            end = clock.monotonic() + READ_S
            while set(reader.positions.values()) == {NOWHERE}:
                if clock.monotonic() > end:
                    return RightsProbe(
                        ProbeResult.UNKNOWN, f"no record of its {partitions} partitions arrived within {READ_S:g} s"
                    )
                reader.read(READ_MAX, READ_WAIT_S)
    except AccessDeniedError:
        return RightsProbe(ProbeResult.MISSING)
    return RightsProbe(ProbeResult.HELD, f"can be read (one of its {partitions} partitions was tested)")


def _shown(settings: ObserverSettings, cluster: Cluster) -> tuple[int, int]:
    """Return the number of listed groups, and the number of groups among them that the observer shows."""
    listed = cluster.list_groups().groups
    shows = GroupFilter(settings.groups_allow, settings.groups_deny)
    return len(listed), sum(shows(group.group) for group in listed)


def _and(detail: str, more: str) -> str:
    return f"{detail}; {more}" if detail else more
