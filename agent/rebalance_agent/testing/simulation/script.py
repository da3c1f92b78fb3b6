"""Defines the input of a simulation: members and steps (join, leave, crash, ...). Times are in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_agent.assignors.strategy_registry import strategy
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import MemberSubscription

__all__ = [
    "STEPS_MAX",
    "Crash",
    "Delete",
    "Join",
    "Leave",
    "RacksChange",
    "SimulatedMember",
    "SimulationSettings",
    "Step",
    "Subscribe",
    "TopicGrows",
    "check_script",
    "restart",
]

STEPS_MAX = 100_000
"""Maximum number of steps: enough to restart thousands of members a few times."""


@dataclass(frozen=True, slots=True)
class SimulatedMember:
    """A consumer's behaviour and configuration.

    - ``strategies``: names, best first. If all strategies are cooperative, the member is cooperative, otherwise eager,
      as in Kafka's consumer.
    - ``processing_ms``: time between two polls. A member learns of a rebalance from a heartbeat and joins at its next
      poll; the other members wait until then.
    - ``revoked_ms``, ``assigned_ms``: duration of the member's callbacks, if they have partitions.
    - ``assign_ms``: duration of ``assign()`` if the member is the leader.
    - ``instance_id``: ``group.instance.id`` (KIP-345). With it, the member sends no LeaveGroup, and keeps its
      assignment when it returns.
    - ``config``: settings of the strategies.
    - ``rebalance_timeout_ms``: the consumer's ``max.poll.interval.ms``.
    """

    name: str
    topics: tuple[str, ...]
    strategies: tuple[str, ...] = ("range",)
    instance_id: str | None = None
    processing_ms: int = 0
    revoked_ms: int = 0
    assigned_ms: int = 0
    assign_ms: int = 0
    heartbeat_interval_ms: int = 3_000
    session_timeout_ms: int = 45_000
    rebalance_timeout_ms: int = 300_000
    rack: str | None = None
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def protocol(self) -> RebalanceProtocol:
        """The rebalance protocol that this member uses."""
        kinds = {strategy(name).protocol for name in self.strategies}
        return RebalanceProtocol.COOPERATIVE if kinds == {RebalanceProtocol.COOPERATIVE} else RebalanceProtocol.EAGER

    def offers(
        self, topics: tuple[str, ...], assigned: TopicPartitions, generation: int
    ) -> dict[str, MemberSubscription]:
        """Strategy -> subscription of a JoinGroup without the member id, as this package's clients encode it.

        An eager member sends the partitions that it was ``assigned`` as a hint, but not to a cooperative strategy,
        which would withhold those partitions although the member has given them up.
        """
        eager = self.protocol is RebalanceProtocol.EAGER
        subscriptions = {}
        for name in self.strategies:
            chosen = strategy(name)
            owned = {} if eager and chosen.protocol is RebalanceProtocol.COOPERATIVE else assigned
            subscriptions[name] = MemberSubscription(
                member_id="",
                topics=topics,
                instance_id=self.instance_id,
                owned=owned,
                generation=generation,
                rack=self.rack,
                user_data=chosen.user_data(self.config, owned, generation),
            )
        return subscriptions


@dataclass(frozen=True, slots=True)
class Join:
    """A member's process starts and joins. The name may belong to a member that has left or crashed before."""

    at_ms: int
    member: SimulatedMember


@dataclass(frozen=True, slots=True)
class Leave:
    """A member closes: its callback runs, and a member that is not static sends a LeaveGroup."""

    at_ms: int
    name: str


@dataclass(frozen=True, slots=True)
class Crash:
    """A member's process ends without running a callback and without a LeaveGroup."""

    at_ms: int
    name: str


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A member changes its subscription, with effect from its next poll."""

    at_ms: int
    name: str
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicGrows:
    """A topic is created with, or grows to, this number of partitions; the leader rejoins because of this."""

    at_ms: int
    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class RacksChange:
    """The racks of partitions change, for example because a broker stops or returns; the leader rejoins (KIP-881)."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class Delete:
    """An administrator deletes the group; this has no effect unless the group is empty."""

    at_ms: int


Step = Join | Leave | Crash | Subscribe | TopicGrows | RacksChange | Delete
"""One step of a script."""


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    """Settings of the broker and of the simulation.

    - ``initial_rebalance_delay_ms``: Kafka's ``group.initial.rebalance.delay.ms``.
    - ``latency_ms``: latency of a request, and of a response.
    - ``patience_ms``: simulated time after the last step, enough for three joins with the default timeout. A group that
      is not stable by then never becomes stable, for example because a member is expelled after each join.
    """

    initial_rebalance_delay_ms: int = 3_000
    latency_ms: int = 0
    patience_ms: int = 900_000


def restart(at_ms: int, member: SimulatedMember, down_ms: int = 0) -> tuple[Leave, Join]:
    """Return the steps of a member that closes and starts again as ``member`` after ``down_ms``."""
    return Leave(at_ms, member.name), Join(at_ms + down_ms, member)


def check_script(script: Sequence[Step], settings: SimulationSettings, present: set[str] | None = None) -> list[Step]:
    """Return the steps sorted by time; steps with the same time keep their order.

    ``present`` has the names of the members before the first step, and is updated to the names after the last step.

    Raises:
        InvalidInputError: a value is out of bounds, or a step names a member that does not exist then, or that joins
        twice.
        AssignmentError: a strategy is unknown, or a strategy's setting is invalid.
    """
    if len(script) > STEPS_MAX:
        raise InvalidInputError("script", f"has {len(script)} steps, more than {STEPS_MAX}")
    for name in ("initial_rebalance_delay_ms", "latency_ms", "patience_ms"):
        _at_least(f"settings.{name}", getattr(settings, name), 0)
    present = set() if present is None else present
    ordered = sorted(enumerate(script), key=lambda numbered: numbered[1].at_ms)
    for index, step in ordered:
        path = f"script[{index}]"
        _at_least(f"{path}.at_ms", step.at_ms, 0)
        if isinstance(step, Join):
            _check_member(f"{path}.member", step.member)
            if step.member.name in present:
                raise InvalidInputError(f"{path}.member.name", f"{step.member.name} is already a member")
            present.add(step.member.name)
        elif isinstance(step, Leave | Crash | Subscribe):
            if step.name not in present:
                raise InvalidInputError(f"{path}.name", f"{step.name} is not a member")
            if not isinstance(step, Subscribe):
                present.remove(step.name)
        elif isinstance(step, TopicGrows):
            _at_least(f"{path}.partitions", step.partitions, 0)
    return [step for _, step in ordered]


def _check_member(path: str, member: SimulatedMember) -> None:
    if not member.name:
        raise InvalidInputError(f"{path}.name", "must not be empty")
    if not member.strategies:
        raise InvalidInputError(f"{path}.strategies", "must name at least one")
    for name in ("processing_ms", "revoked_ms", "assigned_ms", "assign_ms"):
        _at_least(f"{path}.{name}", getattr(member, name), 0)
    for name in ("heartbeat_interval_ms", "rebalance_timeout_ms"):
        _at_least(f"{path}.{name}", getattr(member, name), 1)
    _at_least(f"{path}.session_timeout_ms", member.session_timeout_ms, member.heartbeat_interval_ms + 1)
    for name in member.strategies:
        strategy(name).user_data(member.config, {})


def _at_least(path: str, value: int, minimum: int) -> None:
    if value < minimum:
        raise InvalidInputError(path, f"must be at least {minimum}, not {value}")
