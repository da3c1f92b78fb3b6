"""Builds the events of one consumer behind a gateway; `client_membership` decides when to build an event."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from rebalance_agent.clock import Clock
from rebalance_agent.instrumentation.assign_decision import AssignDecision
from rebalance_agent.instrumentation.event_builder import error_text
from rebalance_agent.instrumentation.led_members import LedMembers
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import AssignEvent, Callback, MemberEvent
from rebalance_agent.model.group_event import process_event_id
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.reported.client_metrics import ClientMetrics
from rebalance_agent.model.reported.led_generation import LedGenerationEvent
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = ["REASON_MAX", "ClientEvents", "Emit"]

REASON_MAX = 1_000
"""Maximum number of characters that are kept of a client's reason (KIP-800); a reason is usually one sentence."""

Emit = Callable[[MemberEvent | AssignEvent | LedGenerationEvent], None]
"""A function that accepts an event. It never blocks and never raises."""


class ClientEvents:
    """The events of one consumer, numbered in the order in which they are built.

    The next member event contains, and clears: ``waits``, durations in seconds by field name, and ``client_metrics``,
    the last push of the client, None if it pushed nothing since the previous event.
    """

    def __init__(
        self,
        group: str,
        client_id: str,
        instance_id: str | None,
        clock: Clock,
        emit: Emit,
        software: ClientSoftware | None = None,
    ) -> None:
        """Start without events; ``emit`` gets the events of `record_decision` and `record_generation`."""
        self._group, self._client_id, self._instance_id = group, client_id, instance_id
        self._clock, self._emit, self._software = clock, emit, software
        self.process = uuid.uuid4().hex
        self.waits: dict[str, Any] = {}
        self.client_metrics: ClientMetrics | None = None
        self._rejected = 0
        self._sequence = 0

    def member(
        self,
        callback: Callback,
        partitions: TopicPartitions,
        started_ms: int,
        at_ms: int,
        reason: str | None,
        member_id: str,
        generation: int,
    ) -> MemberEvent:
        """Build the event of a callback that began at ``started_ms`` and ended at ``at_ms``."""
        self._sequence += 1
        waits, rejected, self.waits, self._rejected = self.waits, self._rejected, {}, 0
        pushed, self.client_metrics = self.client_metrics, None
        return MemberEvent(
            event_id=process_event_id(MemberEvent.KIND, self.process, self._sequence),
            group=self._group,
            timestamp_ms=max(started_ms, at_ms),
            callback=callback,
            client_id=self._client_id,
            member_id=member_id,
            generation=generation,
            started_ms=started_ms,
            partitions=partitions,
            process=self.process,
            sequence=self._sequence,
            instance_id=self._instance_id,
            reason=reason[:REASON_MAX] if reason else None,
            evidence=Evidence.GATEWAY,
            rejected_commits=rejected or None,
            software=self._software,
            client_metrics=pushed,
            **waits,
        )

    def commit_rejected(self, partitions: int) -> None:
        """Add a number of partitions whose commits the coordinator refused; the next member event contains the sum."""
        self._rejected += partitions

    def record_decision(
        self,
        assignor: str,
        generation: int,
        members: int,
        seconds: float,
        decision: AssignDecision | None = None,
        quality: AssignmentQuality | None = None,
        error: Exception | None = None,
    ) -> None:
        """Publish that our assignor ran for ``generation``, which the consumer leads, or failed with ``error``."""
        self._sequence += 1
        self._emit(
            AssignEvent(
                event_id=process_event_id(AssignEvent.KIND, self.process, self._sequence),
                group=self._group,
                timestamp_ms=self._clock.now_ms(),
                assignor=assignor,
                client_id=self._client_id,
                generation=generation,
                duration_seconds=seconds,
                members=members,
                partitions=decision.partitions if decision else 0,
                process=self.process,
                sequence=self._sequence,
                quality=quality,
                user_data_errors=decision.assignment.user_data_errors if decision else {},
                error=error_text(error),
            )
        )

    def record_generation(self, led: LedMembers, session_timeout_ms: int, rebalance_timeout_ms: int) -> None:
        """Publish the generation that the consumer leads, since the coordinator accepted the consumer's assignment."""
        self._sequence += 1
        self._emit(
            led.event(
                self._group,
                self._clock.now_ms(),
                session_timeout_ms,
                rebalance_timeout_ms,
                self.process,
                self._sequence,
            )
        )
