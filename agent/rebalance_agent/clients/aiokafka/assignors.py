"""Assignors with the methods that aiokafka calls. It expects classes with class methods, and accepts instances.

aiokafka calls an `Assignor`, one instance per consumer. That calls a `StrategyAssignor` or a `PlainAssignor` through
the instrumentation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rebalance_agent.assignors import Strategy
from rebalance_agent.clients.aiokafka.cluster_metadata import topic_metadata
from rebalance_agent.clients.aiokafka.joining import Joining
from rebalance_agent.clients.participant import Participant
from rebalance_agent.instrumentation.assign_decision import AssignDecision
from rebalance_agent.instrumentation.assignor_shapes import assignment_of
from rebalance_agent.instrumentation.instrumented_assignor import InstrumentedAssignor
from rebalance_agent.instrumentation.suppress import quietly
from rebalance_agent.model.partitions import topic_partitions
from rebalance_agent.model.subscription import GroupAssignment, GroupSubscription, MemberSubscription

__all__ = ["Assignor", "JoinedMember", "PlainAssignor", "StrategyAssignor"]


@dataclass(frozen=True, slots=True)
class JoinedMember:
    """A member in a leader's JoinGroup response: the whole subscription, and ``metadata``, which aiokafka decodes."""

    subscription: MemberSubscription
    metadata: Any


class StrategyAssignor:
    """A strategy of this package for one consumer; ``name`` is the strategy's in the group protocol."""

    def __init__(self, strategy: Strategy, participant: Participant, rejoin: Callable[[], None]) -> None:
        """Run ``strategy`` for the consumer of ``participant``; ``rejoin`` makes it rejoin soon."""
        self.name = strategy.name
        self.decision: AssignDecision | None = None
        self._strategy = strategy
        self._participant = participant
        self._rejoin = rejoin

    def metadata(self, topics: Iterable[str]) -> bytes:
        """Return the member's subscription, encoded."""
        return self._participant.subscription(self._strategy, topics)

    def assign(self, cluster: Any, members: list[JoinedMember]) -> dict[str, bytes]:  # noqa: ANN401
        """Assign for the group; member id -> encoded assignment."""
        subscriptions = [member.subscription for member in members]
        self.decision = self._participant.decide(self._strategy, topic_metadata(cluster, subscriptions), subscriptions)
        return self._participant.answers(self.decision)

    def on_assignment(self, assignment: Any, generation: int) -> None:  # noqa: ANN401
        """Store ``assignment`` for the next subscription."""
        owned = topic_partitions((partition.topic, partition.partition) for partition in assignment.partitions())
        self._participant.received(owned, generation, self._strategy, assignment.user_data)
        if self._participant.takes_units():
            self._rejoin()


class PlainAssignor:
    """A foreign assignor, of aiokafka or the user, unchanged."""

    def __init__(self, assignor: Any, participant: Participant, group: str) -> None:  # noqa: ANN401
        """Run ``assignor``, usually a class, for one consumer of ``group``."""
        self.name = str(assignor.name)
        self.decision: AssignDecision | None = None
        self._assignor = assignor
        self._participant = participant
        self._group = group

    def metadata(self, topics: Iterable[str]) -> Any:  # noqa: ANN401
        """Return the assignor's own subscription."""
        return self._assignor.metadata(topics)

    def assign(self, cluster: Any, members: list[JoinedMember]) -> Mapping[str, Any]:  # noqa: ANN401
        """Return the assignor's own result; an `AssignDecision` of it is kept as ``decision``."""
        self.decision = None
        result: Mapping[str, Any] = self._assignor.assign(
            cluster, {member.subscription.member_id: member.metadata for member in members}
        )
        with quietly("read an assignment"):
            subscriptions = [member.subscription for member in members]
            assigned = assignment_of(result)
            self.decision = AssignDecision(
                GroupSubscription(topic_metadata(cluster, subscriptions), tuple(subscriptions), self._group),
                GroupAssignment(members=assigned, target=assigned),
            )
        return result

    def on_assignment(self, assignment: Any, generation: int) -> None:  # noqa: ANN401
        """Pass the assignment on, and keep it for other strategies of the same consumer."""
        with quietly("read an assignment"):
            owned = topic_partitions((partition.topic, partition.partition) for partition in assignment.partitions())
            self._participant.received(owned, generation)
        self._assignor.on_assignment(assignment)


class Assignor:
    """A `StrategyAssignor` or `PlainAssignor`, instrumented, with the methods and arguments that aiokafka expects."""

    def __init__(
        self, inner: InstrumentedAssignor, joining: Joining, generation: Callable[[], int], *, last: bool
    ) -> None:
        """Call ``inner``. ``generation`` returns the current one; ``last``: it is the last of the consumer's list."""
        self.name = str(inner.name)
        self._inner = inner
        self._joining = joining
        self._generation = generation
        self._last = last

    def metadata(self, topics: Iterable[str]) -> Any:  # noqa: ANN401
        """Return the member's subscription: a struct of aiokafka, or bytes."""
        self._joining.complete = self._last
        return self._inner.metadata(topics)

    def assign(self, cluster: Any, members: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ANN401
        """Member id -> its assignment: a struct of aiokafka, or bytes."""
        subscriptions = self._joining.members
        return self._inner.assign(
            cluster, [JoinedMember(subscriptions[name], metadata) for name, metadata in members.items()]
        )

    def on_assignment(self, assignment: Any) -> None:  # noqa: ANN401
        """Pass ``assignment`` on with the current generation."""
        self._inner.on_assignment(assignment, self._generation())
