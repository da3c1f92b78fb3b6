"""A wrapper that reports every ``assign()`` call of an assignor with kafka-python's methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rebalance_agent.clock import Clock
from rebalance_agent.instrumentation.assign_decision import AssignDecision
from rebalance_agent.instrumentation.assignor_shapes import assignment_of, group_of, partition_counts
from rebalance_agent.instrumentation.event_builder import EventBuilder
from rebalance_agent.instrumentation.suppress import quietly
from rebalance_agent.model.subscription import GroupAssignment

__all__ = ["InstrumentedAssignor"]


class InstrumentedAssignor:
    """Times ``inner.assign()``. An ``inner`` of this package keeps its last `AssignDecision` as ``inner.decision``."""

    def __init__(self, inner: Any, builder: EventBuilder, clock: Clock) -> None:  # noqa: ANN401 - known by its methods only
        """Wrap ``inner``, which is an instance and not a class."""
        self._inner = inner
        self._builder = builder
        self._clock = clock

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Return any other attribute from the wrapped assignor."""
        if name == "_inner":  # copy and pickle ask before __init__ has run
            raise AttributeError(name)
        return getattr(self._inner, name)

    def assign(self, cluster: Any, members: Iterable[Any]) -> Mapping[str, Any]:  # noqa: ANN401
        """Assign with the wrapped assignor; its result or exception is passed on unchanged."""
        members = list(members)
        start = self._clock.monotonic()
        try:
            result: Mapping[str, Any] = self._inner.assign(cluster, members)
        except BaseException as error:
            self._report(len(members), self._clock.monotonic() - start, None, error)
            raise
        seconds = self._clock.monotonic() - start
        decision = None
        with quietly("read an assignment"):
            decision = self._decision(cluster, members, result)
        self._report(len(members), seconds, decision)
        return result

    def on_assignment(self, assignment: Any, generation: Any) -> Any:  # noqa: ANN401
        """Pass the assignment on. Clients call this in every generation, even if nothing changed for the member."""
        self._builder.membership()
        return self._inner.on_assignment(assignment, generation)

    def _decision(self, cluster: Any, members: list[Any], result: Mapping[str, Any]) -> AssignDecision | None:  # noqa: ANN401
        decision = getattr(self._inner, "decision", None)
        if isinstance(decision, AssignDecision):
            return decision
        topics = partition_counts(cluster, (topic for member in members for topic in member.metadata.topics))
        given = assignment_of(result)
        return AssignDecision(
            group_of(topics, members, self._builder.group),
            GroupAssignment(members=given, target=given),
            whole="EAGER" in {protocol.name for protocol in self._inner.supported_protocols()},
        )

    def _report(
        self, members: int, seconds: float, decision: AssignDecision | None, error: BaseException | None = None
    ) -> None:
        with quietly("report an assignment"):
            self._builder.assign_ended(str(self._inner.name), members, self._clock.now_ms(), seconds, decision, error)
