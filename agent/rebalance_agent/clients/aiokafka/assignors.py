"""Assignors as aiokafka calls them. It asks for classes with class methods; an instance per consumer has the same ones.

aiokafka calls an `Assignor`. That calls, through the instrumentation, a `StrategyAssignor` or a `PlainAssignor`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from rebalance_agent.assignors import Strategy
from rebalance_agent.clients.aiokafka.cluster_metadata import topic_metadata
from rebalance_agent.clients.aiokafka.joining import Joining
from rebalance_agent.clients.participant import Participant
from rebalance_agent.instrumentation.assign_decision import AssignDecision
from rebalance_agent.instrumentation.assignor_shapes import assignment_of
from rebalance_agent.instrumentation.suppress import quietly
from rebalance_agent.model.partitions import topic_partitions
from rebalance_agent.model.subscription import GroupAssignment, GroupSubscription, MemberSubscription

__all__ = ["Assignor", "Inner", "Joined", "PlainAssignor", "StrategyAssignor"]


@dataclass(frozen=True, slots=True)
class Joined:
    """A member in the leader's eyes: all that it said, and as much of it as aiokafka has read."""

    subscription: MemberSubscription
    metadata: Any


class Inner(Protocol):
    """What an `Assignor` passes on to. ``decision`` is the last one."""

    decision: AssignDecision | None

    @property
    def name(self) -> str:
        """The name that the group's coordinator knows the strategy by."""
        ...

    def metadata(self, topics: Iterable[str]) -> Any:  # noqa: ANN401
        """The member's subscription."""
        ...

    def assign(self, cluster: Any, members: list[Joined]) -> Mapping[str, Any]:  # noqa: ANN401
        """Decide for the group."""
        ...

    def on_assignment(self, assignment: Any, generation: int) -> None:  # noqa: ANN401
        """The member has got its assignment."""
        ...


class StrategyAssignor:
    """A strategy of ours."""

    def __init__(self, strategy: Strategy, participant: Participant) -> None:
        """Run ``strategy`` for one consumer."""
        self.decision: AssignDecision | None = None
        self._strategy = strategy
        self._participant = participant

    @property
    def name(self) -> str:
        """The name that the group's coordinator knows the strategy by."""
        return self._strategy.name

    def metadata(self, topics: Iterable[str]) -> bytes:
        """The member's subscription, encoded."""
        return self._participant.subscription(self._strategy, topics)

    def assign(self, cluster: Any, members: list[Joined]) -> dict[str, bytes]:  # noqa: ANN401
        """Decide for the group; assignments come encoded."""
        subscriptions = [member.subscription for member in members]
        self.decision = self._participant.decide(self._strategy, topic_metadata(cluster, subscriptions), subscriptions)
        return self._participant.answers(self.decision)

    def on_assignment(self, assignment: Any, generation: int) -> None:  # noqa: ANN401
        """Keep it for the next subscription."""
        owned = topic_partitions((each.topic, each.partition) for each in assignment.partitions())
        self._participant.received(owned, generation, self._strategy, assignment.user_data)


class PlainAssignor:
    """An assignor of aiokafka's or the user's own, as it is."""

    def __init__(self, assignor: Any, participant: Participant, group: str) -> None:  # noqa: ANN401
        """Run ``assignor`` (a class, as a rule) for one consumer of ``group``."""
        self.decision: AssignDecision | None = None
        self._assignor = assignor
        self._participant = participant
        self._group = group

    @property
    def name(self) -> str:
        """The name that the group's coordinator knows it by."""
        name: str = self._assignor.name
        return name

    def metadata(self, topics: Iterable[str]) -> Any:  # noqa: ANN401
        """The assignor's own."""
        return self._assignor.metadata(topics)

    def assign(self, cluster: Any, members: list[Joined]) -> Mapping[str, Any]:  # noqa: ANN401
        """The assignor's own answer."""
        self.decision = None
        result: Mapping[str, Any] = self._assignor.assign(
            cluster, {member.subscription.member_id: member.metadata for member in members}
        )
        with quietly("read an assignment"):
            subscriptions = [member.subscription for member in members]
            given = assignment_of(result)
            self.decision = AssignDecision(
                GroupSubscription(topic_metadata(cluster, subscriptions), tuple(subscriptions), self._group),
                GroupAssignment(members=given, target=given),
            )
        return result

    def on_assignment(self, assignment: Any, generation: int) -> None:  # noqa: ANN401
        """Passed on; another strategy of the same consumer may want to know what it owns."""
        with quietly("read an assignment"):
            owned = topic_partitions((each.topic, each.partition) for each in assignment.partitions())
            self._participant.received(owned, generation)
        self._assignor.on_assignment(assignment)


class Assignor:
    """What aiokafka sees of an `Inner`, with its methods and their arguments."""

    def __init__(self, inner: Inner, joining: Joining, generation: Callable[[], int], *, last: bool) -> None:
        """Pass on to ``inner``; ``last`` of the consumer's list. ``generation`` asks for the current one."""
        self._inner = inner
        self._joining = joining
        self._generation = generation
        self._last = last

    @property
    def name(self) -> str:
        """The name that the group's coordinator knows it by."""
        return self._inner.name

    def metadata(self, topics: Iterable[str]) -> Any:  # noqa: ANN401
        """The member's subscription: a struct of aiokafka's, or bytes."""
        self._joining.complete = self._last
        return self._inner.metadata(topics)

    def assign(self, cluster: Any, members: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ANN401
        """Member id -> its assignment: a struct of aiokafka's, or bytes."""
        said = self._joining.members
        return self._inner.assign(cluster, [Joined(said[name], metadata) for name, metadata in members.items()])

    def on_assignment(self, assignment: Any) -> None:  # noqa: ANN401
        """The member has got ``assignment``."""
        self._inner.on_assignment(assignment, self._generation())
