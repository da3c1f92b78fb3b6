"""Runs a script of what members do through the model, and gives back what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from rebalance_agent.assignors.coordinator.agenda import Agenda
from rebalance_agent.assignors.coordinator.chronicle import Chronicle
from rebalance_agent.assignors.coordinator.group import Coordinator
from rebalance_agent.assignors.coordinator.ledger import Ledger
from rebalance_agent.assignors.coordinator.member import Member
from rebalance_agent.assignors.coordinator.script import (
    Crash,
    Join,
    Leave,
    Settings,
    Step,
    Subscribe,
    TopicGrows,
    check_script,
)
from rebalance_agent.assignors.coordinator.timeline import Timeline
from rebalance_agent.assignors.coordinator.world import World
from rebalance_agent.model.subscription import TopicMetadata

__all__ = ["simulate"]

APPOINTMENTS_MAX = 20_000_000
"""Of one simulation: a group that does not come to rest must not keep anybody waiting for hours."""


def simulate(topics: Mapping[str, TopicMetadata], script: Sequence[Step], settings: Settings | None = None) -> Timeline:
    """What a classic group goes through when ``script`` happens to it; equal scripts give equal timelines.

    Raises:
        InvalidInputError: a value is out of its bounds, or a step is about a member that is not there then, or is.
        AssignmentError: a member names an unknown strategy, or configures one with what it does not take.
    """
    settings = settings or Settings()
    steps = check_script(script, settings)
    agenda, ledger = Agenda(), Ledger()
    chronicle = Chronicle(agenda, ledger)
    coordinator = Coordinator(agenda, settings, chronicle)
    world = World(agenda, ledger, chronicle, coordinator, settings.latency_ms, dict(topics))
    members: dict[str, Member] = {}
    for step in steps:
        agenda.at(step.at_ms, partial(_take, step, world, members))
    last_ms = steps[-1].at_ms if steps else 0
    settled = agenda.run(last_ms + settings.patience_ms, APPOINTMENTS_MAX)
    return chronicle.timeline(settled=settled)


def _take(step: Step, world: World, members: dict[str, Member]) -> None:
    """Let a step happen."""
    if isinstance(step, Join):
        members[step.member.name] = Member(step.member, world)
        members[step.member.name].start()
    elif isinstance(step, Leave):
        members[step.name].close()
    elif isinstance(step, Crash):
        members[step.name].crash()
    elif isinstance(step, Subscribe):
        members[step.name].subscribe(step.topics)
    elif isinstance(step, TopicGrows):
        world.topics[step.topic] = TopicMetadata(step.partitions)
        for member in members.values():
            member.metadata_changed()
    else:
        world.coordinator.delete()
