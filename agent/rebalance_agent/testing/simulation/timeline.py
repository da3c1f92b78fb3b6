"""What a simulated group went through. Times in milliseconds since its beginning; partitions by topic."""

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

    ``trigger`` and ``cause`` (a member's name, or nothing) say why it began at ``start_ms``. The join phase ended at
    ``joined_ms``; the leader's assignment was there at ``synced_ms``, or never (None): something changed before it, and
    the generation was aborted. ``members`` has names, ``assignment`` partitions, ``joins`` the moment of the JoinGroup
    that counted, all by member id; a static member that did not join in time has no entry in ``joins``. ``expelled``
    names the members that were waited for in vain. ``strategy`` and ``leader`` are None when nobody is left.
    ``subscriptions``: what each member sent for the strategy, without its id; the coordinator's log has it, too.
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
        """Name of the member that the others waited for; None when nobody joined."""
        slowest = max(self.joins, key=self.joins.__getitem__, default=None)
        return None if slowest is None else self.members[slowest]

    @property
    def names(self) -> tuple[str, ...]:
        """The members' names, sorted."""
        return tuple(sorted(self.members.values()))

    def of(self, name: str) -> TopicPartitions:
        """What the latest member of that name was given; nothing if there is none."""
        return self.assignment.get(max((key for key, each in self.members.items() if each == name), default=""), {})


@dataclass(frozen=True, slots=True)
class SimulatedStall:
    """Partitions that nobody worked on, all for the same time.

    From the moment ``owner`` stopped (its revoked callback began, it died, or it was expelled) to the moment the
    assigned callback of ``next_owner`` returned. ``owner`` None: they had none, because the group started or the
    partitions are new. ``next_owner`` None: the group became empty, or nobody subscribes any more; ``resumed_ms`` None:
    they still stand still.
    """

    partitions: TopicPartitions
    stopped_ms: int
    resumed_ms: int | None
    owner: str | None
    next_owner: str | None


@dataclass(frozen=True, slots=True)
class SimulatedHandover:
    """A member began (``took``) or ceased to work on partitions."""

    at_ms: int
    member: str
    took: bool
    partitions: TopicPartitions


@dataclass(frozen=True, slots=True)
class Refusal:
    """A member that was not let in, or was thrown out for good, and why."""

    at_ms: int
    member: str
    explanation: str


@dataclass(frozen=True, slots=True)
class SimulatedReplacement:
    """A static member that came back under a new member id without a new generation (KIP-345)."""

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
    """Everything that happened, each kind in the order of time.

    ``generations`` are those that the coordinator's log has; ``aborted`` have a number of their own, too. ``settled``:
    the group came to rest; else it was looked at until ``end_ms`` and would have gone on.
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
