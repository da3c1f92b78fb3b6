"""The inputs of `migrate`: the group's records, the brokers' settings, and the recorded rebalances."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from rebalance_agent.advice.migration.broker_limits import BrokerLimits
from rebalance_agent.advice.migration.migrating_group import MigratingGroup, RecordedGroup
from rebalance_agent.api.query import NotKnownError
from rebalance_agent.cli.inputs.cluster_records import cluster_records
from rebalance_agent.cli.inputs.cluster_settings import cluster_settings
from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.coordinator_settings import CoordinatorCluster
from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.groupprotocol.tables import OFFSET_COMMIT

__all__ = ["MigrationInputs", "read_inputs"]

OVERLAP_MS = 60_000
"""Milliseconds of records that are read again when following begins; a record may be applied twice."""


@dataclass(slots=True)
class MigrationInputs:
    """What is known about one group. ``broker``: the id of the broker with the settings in ``limits``."""

    limits: BrokerLimits
    broker: int
    recorded: RecordedGroup

    @property
    def group(self) -> MigratingGroup:
        """The group now.

        Raises:
            NotKnownError: there is no such group any more.
        """
        if self.recorded.present is None:
            raise NotKnownError(f"there is no group {self.recorded.name!r} any more")
        return self.recorded.present

    def followed(self, options: argparse.Namespace) -> Iterator[MigratingGroup]:
        """The group now, and again after each record that changes it, without end.

        Raises:
            NotKnownError: the group was deleted.
            RebalanceAgentError: the cluster does not answer.
        """
        last = self.group
        yield last
        options.since, options.follow = SystemClock().now_ms() - OVERLAP_MS, True
        for _ in _applied(options, self.recorded):
            if self.group != last:
                last = self.group
                yield last


def read_inputs(options: argparse.Namespace) -> MigrationInputs:
    """Read the group and the settings from the cluster that the flags name.

    Raises:
        NotKnownError: the cluster has no such group.
        RebalanceAgentError: a setting is wrong, or the cluster does not answer.
    """
    _, properties = cluster_settings(options)
    settings = CoordinatorCluster(properties).settings_of_group(options.group)
    limits = BrokerLimits(settings.of_broker, settings.of_group, settings.consumer_groups)
    options.since, options.follow = None, False
    recorded = RecordedGroup(options.group)
    for _ in _applied(options, recorded):
        pass
    if recorded.present is None:
        raise NotKnownError(f"there is no group {options.group!r} in this cluster")
    return MigrationInputs(limits, settings.broker, recorded)


def _applied(options: argparse.Namespace, recorded: RecordedGroup) -> Iterator[None]:
    """Apply the records of the cluster, and return after each that counted; what does not decode is skipped."""
    for raw in cluster_records(options):
        # Commits are nearly all of the topic, and do not count here.
        if raw.key[:1] == b"\0" and raw.key[1] in OFFSET_COMMIT.key.versions:
            continue
        try:
            record = decode_record(raw.key, raw.value)
        except DecodeError:
            continue
        if recorded.apply(record):
            yield
