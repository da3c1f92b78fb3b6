"""`simulate`: runs a script and returns its timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from rebalance_agent.model.subscription import TopicMetadata
from rebalance_agent.testing.simulation.action_queue import ActionQueue
from rebalance_agent.testing.simulation.group_coordinator import Coordinator
from rebalance_agent.testing.simulation.script import (
    Crash,
    Join,
    Leave,
    RacksChange,
    SimulationSettings,
    Step,
    Subscribe,
    TopicGrows,
    check_script,
)
from rebalance_agent.testing.simulation.shared_state import SharedState
from rebalance_agent.testing.simulation.simulated_member import MemberProcess
from rebalance_agent.testing.simulation.stalled_partitions import StalledPartitions
from rebalance_agent.testing.simulation.timeline import Timeline
from rebalance_agent.testing.simulation.timeline_recorder import TimelineRecorder

__all__ = ["Simulation", "simulate"]

ACTIONS_MAX = 20_000_000
"""Maximum number of actions in one `Simulation.play`, since a group that never becomes stable would run for hours."""


class Simulation:
    """A classic group whose script is played in pieces; only the timeline of the last piece is kept in memory."""

    def __init__(self, topics: Mapping[str, TopicMetadata], settings: SimulationSettings | None = None) -> None:
        """Start with a group without members, in a cluster with ``topics``."""
        self._settings = settings or SimulationSettings()
        self._actions, self._stalled = ActionQueue(), StalledPartitions()
        self._recorder = TimelineRecorder(self._actions, self._stalled)
        coordinator = Coordinator(self._actions, self._settings, self._recorder)
        latency_ms = self._settings.latency_ms
        self._shared = SharedState(self._actions, self._stalled, self._recorder, coordinator, latency_ms, dict(topics))
        self._members: dict[str, MemberProcess] = {}
        self._present: set[str] = set()

    def play(self, script: Sequence[Step], until_ms: int, *, ends: bool = False) -> Timeline:
        """Play the next piece of the script up to ``until_ms``, and return the timeline of this piece.

        Rebalances and stalls that have not ended continue in the next piece. With ``ends`` the open stalls are
        reported.

        Raises:
            InvalidInputError, AssignmentError: as `simulate`.
        """
        for step in check_script(script, self._settings, self._present):
            self._actions.at(step.at_ms, partial(_take, step, self._shared, self._members))
        settled = self._actions.run(until_ms, ACTIONS_MAX)
        if ends:
            self._stalled.close()
        return self._recorder.take(settled=settled)


def simulate(
    topics: Mapping[str, TopicMetadata], script: Sequence[Step], settings: SimulationSettings | None = None
) -> Timeline:
    """Return the timeline of a classic group that goes through ``script``; equal scripts give equal timelines.

    Raises:
        InvalidInputError: a value is out of bounds, or a step names a member that does not exist then, or joins twice.
        AssignmentError: a strategy is unknown, or a strategy's setting is invalid.
    """
    settings = settings or SimulationSettings()
    last_ms = max((step.at_ms for step in script), default=0)
    return Simulation(topics, settings).play(script, last_ms + settings.patience_ms, ends=True)


def _take(step: Step, shared: SharedState, members: dict[str, MemberProcess]) -> None:
    """Perform ``step``."""
    if isinstance(step, Join):
        members[step.member.name] = MemberProcess(step.member, shared)
        members[step.member.name].start()
    elif isinstance(step, Leave):
        members.pop(step.name).close()
    elif isinstance(step, Crash):
        members.pop(step.name).crash()
    elif isinstance(step, Subscribe):
        members[step.name].subscribe(step.topics)
    elif isinstance(step, TopicGrows):
        shared.topics[step.topic] = TopicMetadata(step.partitions)
        for member in members.values():
            member.metadata_changed()
    elif isinstance(step, RacksChange):
        for member in members.values():
            member.metadata_changed(racks=True)
    else:
        shared.coordinator.delete()
