"""Reads the inputs of `migrate`: the group's records, the brokers' settings, and the recorded rebalances."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain

from rebalance_agent.advice.migration.broker_limits import BrokerLimits
from rebalance_agent.advice.migration.migrating_group import MigratingGroup, MigratingGroupRecords
from rebalance_agent.advice.replay.reported_clients import reported_clients
from rebalance_agent.api.query import NotKnownError
from rebalance_agent.cli.inputs.cluster_records import cluster_record_batches
from rebalance_agent.cli.inputs.cluster_settings import cluster_settings, similar_group
from rebalance_agent.cli.inputs.groups_access import past_in_cluster
from rebalance_agent.cli.inputs.raw_records import RawRecord
from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.describing.features import finalized_features
from rebalance_agent.errors import AccessDeniedError, ClusterError, DecodeError, InvalidInputError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC, offsets_partition
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from rebalance_agent.groupprotocol.tables import OFFSET_COMMIT
from rebalance_agent.model.events import Event
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = ["MigrationInputs", "read_inputs"]

OVERLAP_MS = 60_000
"""Milliseconds before now at which following begins, so that no record is missed. Applied records are skipped."""


@dataclass(slots=True)
class MigrationInputs:
    """What is known about one group.

    ``broker``: the id of the broker with the settings in ``limits``. ``position``: the offset of the last record that
    was applied. ``similar``: if there is no such group, the end of the error that names a similar one. ``past``: the
    recorded events; ``software``: the client library of each member that they name, by member id.
    """

    limits: BrokerLimits
    broker: int
    recorded: MigratingGroupRecords
    position: int
    similar: str = ""
    past: tuple[Event, ...] = ()
    software: Mapping[str, ClientSoftware] = field(init=False)

    def __post_init__(self) -> None:
        """Find the client libraries."""
        clients = reported_clients(self.past)
        self.software = {member_id: client.software for member_id, client in clients.items() if client.software}

    @property
    def group(self) -> MigratingGroup:
        """Return the group's present state.

        Raises:
            NotKnownError: there is no such group in the cluster.
        """
        if self.recorded.present is None:
            raise NotKnownError(f"there is no group {self.recorded.name!r} in this cluster{self.similar}")
        return self.recorded.present.with_software(self.software)

    def followed(self, options: argparse.Namespace) -> Iterator[MigratingGroup | None]:
        """Yield the group's present state, and again after each read whose records change the group, without end.

        A coordinator writes the records of one change together. The states between these records are not yielded,
        because the group never had them. A group that changes its protocol is deleted and recreated at once. If the
        next read shows no new group, yield None once; iteration continues.

        Raises:
            RebalanceAgentError: the cluster does not answer.
        """
        last: MigratingGroup | None = self.group
        yield last
        options.since, options.follow = SystemClock().now_ms() - OVERLAP_MS, True
        for offsets in _applied(options, self.recorded, after=self.position):
            exists = self.recorded.present is not None
            if bool(offsets) is exists and (present := self.group if exists else None) != last:
                last = present
                yield last


def read_inputs(options: argparse.Namespace) -> MigrationInputs:
    """Read the group and the settings from the cluster that the flags name. The group need not exist.

    Raises:
        RebalanceAgentError: a setting is wrong, or the cluster does not answer.
    """
    _, properties = cluster_settings(options)
    broker, limits = _limits(Cluster(properties), options.group)
    options.since, options.follow = None, False
    recorded = MigratingGroupRecords(options.group)
    position = max(chain.from_iterable(_applied(options, recorded)), default=-1)
    if recorded.present is None:
        return MigrationInputs(limits, broker, recorded, position, similar_group(properties, options.group))
    return MigrationInputs(limits, broker, recorded, position, past=past_in_cluster(options).events)


def _limits(cluster: Cluster, group: str) -> tuple[int, BrokerLimits]:
    """Return the id of the group's coordinator, and the settings that the user may read.

    The group is not described, because librdkafka 2.16 aborts the process if it cannot decode an assignment.
    """
    count = cluster.identify()[1].get(OFFSETS_TOPIC, 0)
    leader = cluster.leader(OFFSETS_TOPIC, offsets_partition(group, count)) if count else -1
    broker = leader if leader >= 0 else min(cluster.brokers())
    types = {listed.group_type for listed in cluster.list_groups().groups}
    of_broker, of_group = _settings(cluster, "broker", str(broker)), _settings(cluster, "group", group)
    return broker, BrokerLimits(of_broker, of_group, GroupType.CONSUMER in types, *_group_version(cluster))


def _group_version(cluster: Cluster) -> tuple[int | None, str]:
    """Return the level of the feature that allows consumer groups; None, and the reason, if it cannot be read."""
    try:
        with closing(cluster.broker_client()) as client:
            features = finalized_features(client)
    except InvalidInputError as error:
        return None, f"{error.field} {error.problem}".strip()
    except ClusterError as error:
        return None, str(error)
    return (None, "the brokers report no features") if features is None else (features.get("group.version", 0), "")


def _settings(cluster: Cluster, kind: str, name: str) -> dict[str, str]:
    try:
        return cluster.settings(kind, name)
    except AccessDeniedError:
        return {}


def _applied(options: argparse.Namespace, recorded: MigratingGroupRecords, after: int = -1) -> Iterator[list[int]]:
    """Apply the cluster's records with offsets above ``after``; yield the offsets of the records of each read.

    Records that cannot be decoded are skipped.
    """
    for batch in cluster_record_batches(options):
        yield list(_applied_batch(batch, recorded, after))


def _applied_batch(batch: Iterable[RawRecord], recorded: MigratingGroupRecords, after: int) -> Iterator[int]:
    for raw in batch:
        # Nearly all records of the topic are offset commits, which are not needed here.
        offset = -1 if raw.offset is None else raw.offset
        if offset <= after or record_kind(raw.key) == OFFSET_COMMIT.kind:
            continue
        try:
            record = decode_record(raw.key, raw.value)
        except DecodeError:
            continue
        if recorded.apply(record):
            yield offset
