"""Writes down what the coordinator goes through, as the timeline has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.group import GroupState
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import GroupAssignment
from rebalance_agent.testing.simulation.agenda import Agenda
from rebalance_agent.testing.simulation.member_registry import Registry
from rebalance_agent.testing.simulation.stalled_partitions import StalledPartitions
from rebalance_agent.testing.simulation.timeline import (
    Refusal,
    SimulatedGeneration,
    SimulatedReplacement,
    StateChange,
    Timeline,
)

__all__ = ["Chronicle"]

_Noted = TypeVar("_Noted")


@dataclass(frozen=True, slots=True)
class _Beginning:
    trigger: Trigger
    cause: str
    start_ms: int


class Chronicle:
    """One group's story; the partitions' is in the ``ledger``."""

    def __init__(self, agenda: Agenda, ledger: StalledPartitions) -> None:
        """Nothing has happened; the ``agenda`` knows the time."""
        self._agenda = agenda
        self._ledger = ledger
        self._generations: list[SimulatedGeneration] = []
        self._aborted: list[SimulatedGeneration] = []
        self._refusals: list[Refusal] = []
        self._replacements: list[SimulatedReplacement] = []
        self._states: list[StateChange] = []
        self._beginning = _Beginning(Trigger.GROUP_STARTED, "", 0)
        self._running: SimulatedGeneration | None = None
        self._started_ms: int | None = None

    def entered(self, state: GroupState) -> None:
        """The group's state is another one."""
        self._states.append(StateChange(self._agenda.now_ms, state))

    def began(self, trigger: Trigger, cause: str) -> None:
        """A join phase begins."""
        self._beginning = _Beginning(trigger, cause, self._agenda.now_ms)
        if trigger is Trigger.GROUP_STARTED:
            self._started_ms = self._agenda.now_ms

    def joined(self, number: int, strategy: str, registry: Registry, expelled: tuple[str, ...]) -> None:
        """The join phase ended, with these members or with none."""
        now_ms, begun, members = self._agenda.now_ms, self._beginning, registry.members
        generation = SimulatedGeneration(
            number=number,
            trigger=begun.trigger,
            cause=begun.cause,
            start_ms=begun.start_ms,
            joined_ms=now_ms,
            strategy=strategy or None,
            leader=registry.leader,
            members={member_id: member.party.name for member_id, member in members.items()},
            joins={key: member.joined_ms for key, member in members.items() if member.joined_ms is not None},
            expelled=expelled,
            subscriptions={key: member.request.offers[strategy] for key, member in members.items()},
        )
        if members:
            self._running = generation
        else:
            self._generations.append(replace(generation, synced_ms=now_ms))
            self._ledger.nobody(now_ms)

    def synced(self, assignment: Mapping[str, TopicPartitions], plan: GroupAssignment) -> None:
        """The leader's ``plan`` came, and was stored as ``assignment``."""
        now_ms = self._agenda.now_ms
        if self._running is not None:
            self._generations.append(replace(self._running, synced_ms=now_ms, assignment=assignment))
        self._running = None
        self._ledger.planned(now_ms, now_ms if self._started_ms is None else self._started_ms, plan.target.values())
        self._started_ms = None

    def aborted(self) -> None:
        """A new join phase begins before the assignment came."""
        if self._running is not None:
            self._aborted.append(self._running)
        self._running = None

    def replaced(self, member: str, generation: int, old_member_id: str, member_id: str) -> None:
        """A static member returned without a rebalance."""
        self._replacements.append(
            SimulatedReplacement(self._agenda.now_ms, member, generation, old_member_id, member_id)
        )

    def refused(self, member: str, explanation: str) -> None:
        """A member's process ends because the coordinator will not have it."""
        self._refusals.append(Refusal(self._agenda.now_ms, member, explanation))

    def take(self, *, settled: bool) -> Timeline:
        """The story since this was last asked for."""
        return Timeline(
            generations=_taken(self._generations),
            aborted=_taken(self._aborted),
            stalls=_taken(self._ledger.stalls),
            handovers=_taken(self._ledger.handovers),
            refusals=_taken(self._refusals),
            replacements=_taken(self._replacements),
            states=_taken(self._states),
            settled=settled,
            end_ms=self._agenda.now_ms,
        )


def _taken(kept: list[_Noted]) -> tuple[_Noted, ...]:
    taken = tuple(kept)
    kept.clear()
    return taken
