"""What happens to a group: members as they are, and steps in which they come, go and change. Times in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_agent.assignors.strategy_registry import strategy
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.group import RebalanceProtocol

__all__ = [
    "STEPS_MAX",
    "Crash",
    "Delete",
    "Join",
    "Leave",
    "SimulatedMember",
    "SimulationSettings",
    "Step",
    "Subscribe",
    "TopicGrows",
    "check_script",
    "restart",
]

STEPS_MAX = 100_000
"""Steps of one script: a group of thousands restarted a few times over."""


@dataclass(frozen=True, slots=True)
class SimulatedMember:
    """A consumer as it is written and configured.

    - ``strategies``: by name, best first. Only cooperative ones: the member is cooperative, else eager, as Kafka's own
      consumer decides.
    - ``processing_ms``: how long it works between two polls. It learns of a rebalance from a heartbeat, and joins at
      its next poll: until then everybody waits for it.
    - ``revoked_ms``, ``assigned_ms``: how long its callbacks take when there are partitions for them.
    - ``assign_ms``: how long it takes to decide for the group when it is the leader.
    - ``instance_id``: static membership (KIP-345): it leaves without saying so, and returns to its place.
    - ``config``: settings of its strategies; ``rebalance_timeout_ms`` is a consumer's ``max.poll.interval.ms``.
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
        """How this member behaves in a rebalance."""
        kinds = {strategy(name).protocol for name in self.strategies}
        return RebalanceProtocol.COOPERATIVE if kinds == {RebalanceProtocol.COOPERATIVE} else RebalanceProtocol.EAGER


@dataclass(frozen=True, slots=True)
class Join:
    """A member's process starts and joins. The name may be that of a member which has gone: that is its return."""

    at_ms: int
    member: SimulatedMember


@dataclass(frozen=True, slots=True)
class Leave:
    """A member closes: its callback runs, and it leaves the group, but for a static one, which is missed later."""

    at_ms: int
    name: str


@dataclass(frozen=True, slots=True)
class Crash:
    """A member's process ends without a word."""

    at_ms: int
    name: str


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A member subscribes to other topics; it takes effect at its next poll."""

    at_ms: int
    name: str
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicGrows:
    """The members learn that a topic has this many partitions now, or that it exists; the leader acts on it."""

    at_ms: int
    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class Delete:
    """An administrator deletes the group; nothing happens unless it is empty."""

    at_ms: int


Step = Join | Leave | Crash | Subscribe | TopicGrows | Delete


@dataclass(frozen=True, slots=True)
class SimulationSettings:
    """What is not a member's: the broker's part, and how long to look.

    - ``initial_rebalance_delay_ms``: Kafka's ``group.initial.rebalance.delay.ms``.
    - ``latency_ms``: of a request, and of an answer.
    - ``patience_ms``: simulated time after the last step. Three joins with the default timeout fit in; a group that
      has not come to rest then never will, such as one with a member that is expelled whenever it has joined.
    """

    initial_rebalance_delay_ms: int = 3_000
    latency_ms: int = 0
    patience_ms: int = 900_000


def restart(at_ms: int, member: SimulatedMember, down_ms: int = 0) -> tuple[Leave, Join]:
    """The steps of a member that closes and is back, maybe changed, after ``down_ms``."""
    return Leave(at_ms, member.name), Join(at_ms + down_ms, member)


def check_script(script: Sequence[Step], settings: SimulationSettings, present: set[str] | None = None) -> list[Step]:
    """The steps in the order of their time; those of one time as they were given.

    ``present``: who is there before the first step; afterwards, who is there after the last one.

    Raises:
        InvalidInputError: a value is out of its bounds, or a step is about a member that is not there then, or is.
        AssignmentError: a member names an unknown strategy, or configures one with what it does not take.
    """
    if len(script) > STEPS_MAX:
        raise InvalidInputError("script", f"has {len(script)} steps, more than {STEPS_MAX}")
    for name in ("initial_rebalance_delay_ms", "latency_ms", "patience_ms"):
        _at_least(f"settings.{name}", getattr(settings, name), 0)
    present = set() if present is None else present
    ordered = sorted(enumerate(script), key=lambda numbered: numbered[1].at_ms)
    for place, step in ordered:
        path = f"script[{place}]"
        _at_least(f"{path}.at_ms", step.at_ms, 0)
        if isinstance(step, Join):
            _check_member(f"{path}.member", step.member)
            if step.member.name in present:
                raise InvalidInputError(f"{path}.member.name", f"{step.member.name} is there already")
            present.add(step.member.name)
        elif isinstance(step, Leave | Crash | Subscribe):
            if step.name not in present:
                raise InvalidInputError(f"{path}.name", f"{step.name} is not there")
            if not isinstance(step, Subscribe):
                present.remove(step.name)
        elif isinstance(step, TopicGrows):
            _at_least(f"{path}.partitions", step.partitions, 0)
    return [step for _, step in ordered]


def _check_member(path: str, member: SimulatedMember) -> None:
    if not member.name:
        raise InvalidInputError(f"{path}.name", "must not be empty")
    if not member.strategies:
        raise InvalidInputError(f"{path}.strategies", "must name one at least")
    for name in ("processing_ms", "revoked_ms", "assigned_ms", "assign_ms"):
        _at_least(f"{path}.{name}", getattr(member, name), 0)
    for name in ("heartbeat_interval_ms", "rebalance_timeout_ms"):
        _at_least(f"{path}.{name}", getattr(member, name), 1)
    _at_least(f"{path}.session_timeout_ms", member.session_timeout_ms, member.heartbeat_interval_ms + 1)
    for name in member.strategies:
        strategy(name).user_data(member.config, {})


def _at_least(path: str, value: int, least: int) -> None:
    if value < least:
        raise InvalidInputError(path, f"must be at least {least}, not {value}")
