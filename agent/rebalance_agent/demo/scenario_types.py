"""Defines the types of the demo's scenario: groups with members, and steps with actions and expected episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rebalance_agent.model.episode import Trigger

__all__ = [
    "Action",
    "AddPartitions",
    "ClientLibrary",
    "CreateTopic",
    "DemoGroup",
    "DemoMember",
    "DemoStep",
    "Expected",
    "KillMember",
    "SlowDown",
    "StartMember",
    "StopMember",
]


class ClientLibrary(StrEnum):
    """The client library of a group's members; only kafka-python's members are instrumented and use our strategies."""

    KAFKA_PYTHON = "kafka-python"
    CONFLUENT = "confluent-kafka"


@dataclass(frozen=True, slots=True)
class DemoMember:
    """One consumer process, with a unique ``name``. ``from_start``: False if a step starts it.

    ``config``: assignor settings. ``host``: the client id of all members of one host; empty if the member's name is its
    client id. ``assignors``: the assignors that the member offers to its group, in order of preference; empty for the
    group's assignor.
    """

    name: str
    config: Mapping[str, str] = field(default_factory=dict)
    from_start: bool = True
    host: str = ""
    assignors: tuple[str, ...] = ()

    @property
    def client_id(self) -> str:
        """The client id of the member's consumer."""
        return self.host or self.name


@dataclass(frozen=True, slots=True)
class DemoGroup:
    """A consumer group. ``topics``: a topic name, or a regular expression if it begins with ``^``.

    ``assignor``: the assignor after the last step. ``host_names``: the observer's rule for the hosts of the group's
    members, which all have the address of this machine; empty if there is no rule.
    ``configured``: the assignor in the clients' own configuration if gateways (one for each member) replace it by
    ``assignor``; empty if there are no such gateways. ``gateway``: the name of the gateway that all members of this
    group use, perhaps with members of other groups; empty if there is none. ``seats``: the group's rule in the
    gateway's ``gateway_seats``; empty if there is no rule.
    """

    name: str
    description: str
    client: ClientLibrary
    assignor: str
    topics: str
    members: tuple[DemoMember, ...]
    session_timeout_ms: int = 15_000
    configured: str = ""
    host_names: str = ""
    gateway: str = ""
    seats: str = ""


@dataclass(frozen=True)
class _MemberAction:
    group: str
    member: str


class StartMember(_MemberAction):
    """Start the member's process."""


class StopMember(_MemberAction):
    """Make the member close its consumer and end."""


class KillMember(_MemberAction):
    """End the member with SIGKILL; the coordinator detects this at the session timeout."""


@dataclass(frozen=True, slots=True)
class SlowDown:
    """Make the next revoked callback of ``member`` take ``seconds``, as if the member finished its current work."""

    group: str
    member: str
    seconds: float


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """Increase a topic to ``total`` partitions."""

    topic: str
    total: int


@dataclass(frozen=True, slots=True)
class CreateTopic:
    """Create a topic that matches a group's pattern."""

    topic: str
    partitions: int


Action = StartMember | StopMember | KillMember | SlowDown | AddPartitions | CreateTopic


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected effect of a step: one episode of ``group`` with this ``trigger``, then ``members`` members.

    ``partitions``: client id -> number of partitions after the episode; empty if any assignment is right.
    ``on_one_host``: number of topics that are entirely on one host after the episode; None if any number is right.
    """

    group: str
    trigger: Trigger
    members: int
    partitions: Mapping[str, int] = field(default_factory=dict)
    on_one_host: int | None = None


@dataclass(frozen=True, slots=True)
class DemoStep:
    """One step of the demo: a ``text`` for users, the actions, and the episodes that the agent must report.

    ``unchanged``: groups in which the actions must not cause a rebalance.
    """

    name: str
    text: str
    actions: tuple[Action, ...]
    expected: tuple[Expected, ...]
    unchanged: tuple[str, ...] = ()

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups with an expected episode, and those that must not change."""
        return *(expected.group for expected in self.expected), *self.unchanged

    @property
    def slow(self) -> SlowDown | None:
        """Return the action that makes a member slow in this step, if there is one."""
        return next((action for action in self.actions if isinstance(action, SlowDown)), None)
