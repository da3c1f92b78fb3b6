"""Defines the output of a simulation. Times are milliseconds since the start; partitions are by topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.group import GroupState
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import MemberSubscription

__all__ = [
    "Refusal",
    "SimulatedGeneration",
    "SimulatedHandover",
    "SimulatedReplacement",
    "SimulatedStall",
    "StateChange",
    "Timeline",
]


@dataclass(frozen=True, slots=True)
class SimulatedGeneration:
    """One generation.

    - ``trigger`` and ``cause`` (a member's name, or empty): why it began at ``start_ms``.
    - ``joined_ms``: the end of the join phase. ``synced_ms``: the arrival of the leader's assignment, None if the
      generation was aborted before.
    - ``members``, ``assignment``, ``joins``: name, partitions and time of the last JoinGroup by member id. A static
      member that did not join in time has no entry in ``joins``.
    - ``expelled``: names of the members that did not join in time.
    - ``strategy``, ``leader``: None for an empty group.
    - ``subscriptions``: member id -> the subscription for the strategy, which the coordinator's log also has.
    """

    number: int
    trigger: Trigger
    cause: str
    start_ms: int
    joined_ms: int
    synced_ms: int | None = None
    strategy: str | None = None
    leader: str | None = None
    members: Mapping[str, str] = field(default_factory=dict)
    assignment: Mapping[str, TopicPartitions] = field(default_factory=dict)
    joins: Mapping[str, int] = field(default_factory=dict)
    expelled: tuple[str, ...] = ()
    subscriptions: Mapping[str, MemberSubscription] = field(default_factory=dict)

    @property
    def last_to_join(self) -> str | None:
        """The name of the member that joined last; None if no member joined."""
        slowest = max(self.joins, key=self.joins.__getitem__, default=None)
        return None if slowest is None else self.members[slowest]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the members, sorted."""
        return tuple(sorted(self.members.values()))

    def of(self, name: str) -> TopicPartitions:
        """Return the assignment of the latest member with ``name``; empty if there is no such member."""
        return self.assignment.get(max((key for key, member in self.members.items() if member == name), default=""), {})


@dataclass(frozen=True, slots=True)
class SimulatedStall:
    """Partitions that no member processed during the same time.

    The stall begins when ``owner`` stops: its revoked callback begins, it crashes, or it is expelled. It ends when the
    assigned callback of ``next_owner`` has returned. ``owner`` is None for a group that has just started and for new
    partitions. ``next_owner`` is None if the group became empty or has no subscription to the topic any more.
    ``resumed_ms`` is None for a stall that has not ended.
    """

    partitions: TopicPartitions
    stopped_ms: int
    resumed_ms: int | None
    owner: str | None
    next_owner: str | None


@dataclass(frozen=True, slots=True)
class SimulatedHandover:
    """A member started (``took``) or stopped processing partitions."""

    at_ms: int
    member: str
    took: bool
    partitions: TopicPartitions


@dataclass(frozen=True, slots=True)
class Refusal:
    """A member that was refused or fenced, and why."""

    at_ms: int
    member: str
    explanation: str


@dataclass(frozen=True, slots=True)
class SimulatedReplacement:
    """A static member that returned under a new member id without a new generation (KIP-345)."""

    at_ms: int
    member: str
    generation: int
    old_member_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class StateChange:
    """The group's state from ``at_ms`` on."""

    at_ms: int
    state: GroupState


@dataclass(frozen=True, slots=True)
class Timeline:
    """All entries of a simulation; each kind is in order of time.

    ``generations``: the generations in the coordinator's log; ``aborted``: generations with a number but no record.
    ``settled``: no planned action is left; otherwise the simulation stopped at ``end_ms`` with planned actions.
    """

    generations: tuple[SimulatedGeneration, ...]
    aborted: tuple[SimulatedGeneration, ...]
    stalls: tuple[SimulatedStall, ...]
    handovers: tuple[SimulatedHandover, ...]
    refusals: tuple[Refusal, ...]
    replacements: tuple[SimulatedReplacement, ...]
    states: tuple[StateChange, ...]
    settled: bool
    end_ms: int
