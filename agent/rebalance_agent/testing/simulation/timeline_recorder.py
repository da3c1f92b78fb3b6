"""Records the coordinator's changes as entries of the `Timeline`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.group import GroupState
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import GroupAssignment
from rebalance_agent.testing.simulation.action_queue import ActionQueue
from rebalance_agent.testing.simulation.member_registry import Registry
from rebalance_agent.testing.simulation.stalled_partitions import StalledPartitions
from rebalance_agent.testing.simulation.timeline import (
    Refusal,
    SimulatedGeneration,
    SimulatedReplacement,
    StateChange,
    Timeline,
)

__all__ = ["TimelineRecorder"]

_Entry = TypeVar("_Entry")


class TimelineRecorder:
    """Records generations, refusals and states of one group. `StalledPartitions` records stalls."""

    def __init__(self, actions: ActionQueue, stalled: StalledPartitions) -> None:
        """Start without entries; ``actions`` has the time."""
        self._actions = actions
        self._stalled = stalled
        self._generations: list[SimulatedGeneration] = []
        self._aborted: list[SimulatedGeneration] = []
        self._refusals: list[Refusal] = []
        self._replacements: list[SimulatedReplacement] = []
        self._states: list[StateChange] = []
        self._beginning = (Trigger.GROUP_STARTED, "", 0)
        self._running: SimulatedGeneration | None = None
        self._started_ms: int | None = None

    def entered(self, state: GroupState) -> None:
        """Record that the group changed to ``state``."""
        self._states.append(StateChange(self._actions.now_ms, state))

    def began(self, trigger: Trigger, cause: str) -> None:
        """Record that a join phase begins because of ``trigger``; ``cause`` names a member, or is empty."""
        self._beginning = (trigger, cause, self._actions.now_ms)
        if trigger is Trigger.GROUP_STARTED:
            self._started_ms = self._actions.now_ms

    def joined(self, number: int, strategy: str, registry: Registry, expelled: tuple[str, ...]) -> None:
        """Record that the join phase of generation ``number`` ended with the members of ``registry`` (or without)."""
        now_ms, members = self._actions.now_ms, registry.members
        generation = SimulatedGeneration(
            number,
            *self._beginning,
            joined_ms=now_ms,
            strategy=strategy or None,
            leader=registry.leader,
            members={member_id: member.receiver.name for member_id, member in members.items()},
            joins={key: member.joined_ms for key, member in members.items() if member.joined_ms is not None},
            expelled=expelled,
            subscriptions={key: member.request.offers[strategy] for key, member in members.items()},
        )
        if members:
            self._running = generation
        else:
            self._generations.append(replace(generation, synced_ms=now_ms))
            self._stalled.emptied(now_ms)

    def synced(self, assignment: Mapping[str, TopicPartitions], plan: GroupAssignment) -> None:
        """Record that the leader's ``plan`` arrived and was stored as ``assignment``."""
        now_ms = self._actions.now_ms
        if self._running is not None:
            self._generations.append(replace(self._running, synced_ms=now_ms, assignment=assignment))
        self._running = None
        self._stalled.planned(now_ms, now_ms if self._started_ms is None else self._started_ms, plan.target.values())
        self._started_ms = None

    def aborted(self) -> None:
        """Record that a new join phase begins before the leader's assignment has arrived."""
        if self._running is not None:
            self._aborted.append(self._running)
        self._running = None

    def replaced(self, member: str, generation: int, old_member_id: str, member_id: str) -> None:
        """Record that a static member returned under a new id without a rebalance."""
        self._replacements.append(
            SimulatedReplacement(self._actions.now_ms, member, generation, old_member_id, member_id)
        )

    def refused(self, member: str, explanation: str) -> None:
        """Record that the coordinator refused ``member``, whose process ends."""
        self._refusals.append(Refusal(self._actions.now_ms, member, explanation))

    def take(self, *, settled: bool) -> Timeline:
        """Return the entries since the last call, and drop them here."""
        return Timeline(
            generations=_drained(self._generations),
            aborted=_drained(self._aborted),
            stalls=_drained(self._stalled.stalls),
            handovers=_drained(self._stalled.handovers),
            refusals=_drained(self._refusals),
            replacements=_drained(self._replacements),
            states=_drained(self._states),
            settled=settled,
            end_ms=self._actions.now_ms,
        )


def _drained(kept: list[_Entry]) -> tuple[_Entry, ...]:
    taken = tuple(kept)
    kept.clear()
    return taken
