"""Runs `migrate` for a group, settings and events that are given instead of read."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.advice.migration.broker_limits import BrokerLimits
from rebalance_agent.advice.migration.migrating_group import MigratingGroup, MigratingGroupRecords, MigratingMember
from rebalance_agent.cli import main
from rebalance_agent.cli.commands import migrate
from rebalance_agent.cli.inputs.migration_inputs import MigrationInputs
from rebalance_agent.model.group import GroupType
from rebalance_agent.runtime.watch.history_reader import GroupPast

BROKER = {
    "group.consumer.migration.policy": "bidirectional",
    "group.consumer.assignors": "uniform,range",
    "group.consumer.heartbeat.interval.ms": "5000",
}
OLD = MigratingMember("m1", "consumer-orders-1", GroupType.CLASSIC, topics=("t",))
ORDERS = MigratingGroup("orders", GroupType.CLASSIC, (OLD, replace(OLD, member_id="m2")), assignor="range")


class Recorded(MigratingGroupRecords):
    """A group that is given; its records are not read."""

    def __init__(self, group):
        super().__init__(group.group)
        self._given = group

    @property
    def present(self):
        return self._given


def asking(monkeypatch, capsys):
    """A function that runs the command for a group and settings of its broker; it returns the exit code and the output.

    ``followed``: the group's states during `--watch`. The function's ``errors`` are those of its last call.
    """

    def run(group, *arguments, broker=BROKER, events=(), followed=None):
        limits = BrokerLimits(broker, {}, consumer_groups=True)
        inputs = MigrationInputs(limits, 1, Recorded(group), 0, past=tuple(events))
        monkeypatch.setattr(migrate, "quiet_logs", lambda: None)
        monkeypatch.setattr(migrate, "read_inputs", lambda _options: inputs)
        monkeypatch.setattr(
            migrate, "past_in_cluster", lambda _options: GroupPast(tuple(events), "records", known=True)
        )
        monkeypatch.setattr(MigrationInputs, "followed", lambda self, _options: iter(followed or [self.group] * 2))
        code = main.main(["migrate", group.group, "--bootstrap-servers", "kafka:9092", *arguments])
        out, run.errors = capsys.readouterr()
        return code, out

    return run
