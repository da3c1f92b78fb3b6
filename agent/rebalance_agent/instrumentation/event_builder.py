"""Builds the events of one consumer. No other module of this package uses their fields."""

from __future__ import annotations

from collections.abc import Collection, Container
from dataclasses import replace
from typing import Protocol

from rebalance_agent.instrumentation.assign_decision import AssignDecision
from rebalance_agent.instrumentation.consumer_progress import ConsumerProgress
from rebalance_agent.instrumentation.delivery.reporter import Reporter
from rebalance_agent.instrumentation.led_members import LedMembers
from rebalance_agent.instrumentation.membership import Membership, MembershipSource
from rebalance_agent.instrumentation.suppress import quietly
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.events import AssignEvent, Callback, MemberEvent
from rebalance_agent.model.group_event import process_event_id
from rebalance_agent.model.partitions import topic_partitions
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = ["ERROR_TEXT_MAX", "EventBuilder", "HasTopicPartition", "error_text"]

ERROR_TEXT_MAX = 1_000
"""Maximum length of an exception's text or a client's reason in an event, in characters."""

_GIVING_UP = frozenset({Callback.REVOKED, Callback.LOST})


class HasTopicPartition(Protocol):
    """A client's ``TopicPartition``, described by its attributes."""

    @property
    def topic(self) -> str:
        """The topic's name."""
        ...

    @property
    def partition(self) -> int:
        """The partition's number."""
        ...


class EventBuilder:
    """Builds events of the member ``client_id`` of ``group`` for a reporter. Its methods never raise."""

    def __init__(
        self,
        group: str,
        client_id: str,
        source: MembershipSource,
        reporter: Reporter,
        progress: ConsumerProgress | None = None,
        software: ClientSoftware | None = None,
    ) -> None:
        """Start without events.

        ``source`` returns the member's generation and ids; ``progress`` counts records; ``reporter`` sends;
        ``software``: the client's library.
        """
        self.group = group
        self._client_id = client_id
        self._source = source
        self._reporter = reporter
        self._progress = progress
        self._software = software
        self._waited: tuple[float | None, float | None] = (None, None)
        self._last = Membership()
        self._unexplained: MemberEvent | None = None

    def current(self) -> Membership:
        """Return the member's generation and ids now, as its client reports them."""
        with quietly("ask the client for its generation"):
            return self._source()
        return Membership()

    def membership(self) -> Membership:
        """Return the member's generation and ids now, or the last ones if it is in no generation."""
        current = self.current()
        if current.joined:
            self._last = current
        return self._last

    def waited(self, join_seconds: float | None, sync_seconds: float | None) -> None:
        """Add the durations of JoinGroup and SyncGroup to the next member event."""
        self._waited = (join_seconds, sync_seconds)

    def callback_starts(self, callback: Callback, partitions: Collection[HasTopicPartition]) -> None:
        """Record that a callback is about to run with ``partitions``."""
        if self._progress is not None:
            with quietly("read the consumer's positions"):
                concerned = [(partition.topic, partition.partition) for partition in partitions]
                if callback is Callback.ASSIGNED:
                    self._progress.assigned(concerned)
                else:
                    self._progress.save_positions(concerned)

    def callback_ended(
        self,
        callback: Callback,
        partitions: Collection[HasTopicPartition],
        membership: Membership,
        started_ms: int,
        timestamp_ms: int,
        error: BaseException | None = None,
    ) -> None:
        """Report a callback that has returned or raised ``error``, or a consumer that left."""
        reprocessed = self._reprocessed(callback, partitions)
        (join_seconds, sync_seconds), self._waited = self._waited, (None, None)
        with quietly("report a callback"):
            concerned = topic_partitions((partition.topic, partition.partition) for partition in partitions)
            self._reporter.emit(
                lambda process, sequence: self._remember(
                    MemberEvent(
                        event_id=process_event_id(MemberEvent.KIND, process, sequence),
                        group=self.group,
                        timestamp_ms=timestamp_ms,
                        callback=callback,
                        client_id=self._client_id,
                        member_id=membership.member_id,
                        generation=membership.generation,
                        started_ms=started_ms,
                        partitions=concerned,
                        process=process,
                        sequence=sequence,
                        cluster_id=membership.cluster_id,
                        instance_id=membership.instance_id,
                        error=error_text(error),
                        reprocessed_records=reprocessed,
                        join_seconds=join_seconds,
                        sync_seconds=sync_seconds,
                        software=self._software,
                    )
                )
            )

    def explained(self, reason: str, callbacks: Container[Callback]) -> None:
        """Send the last revoked or lost event again with ``reason``, if its callback is among ``callbacks``.

        Clients such as librdkafka report the reason only after the callback.
        """
        with quietly("report a reason"):
            event, self._unexplained = self._unexplained, None
            if event is not None and event.callback in callbacks and reason:
                again = replace(event, reason=reason[:ERROR_TEXT_MAX], revision=event.revision + 1)
                self._reporter.emit(lambda _process, _sequence: again)

    def assign_ended(
        self,
        assignor: str,
        members: int,
        timestamp_ms: int,
        duration_seconds: float,
        decision: AssignDecision | None = None,
        error: BaseException | None = None,
    ) -> None:
        """Report an ``assign()`` call of this member, the leader. Its quality is computed only if events are sent."""
        membership = self.membership()
        self._reporter.emit(
            lambda process, sequence: AssignEvent(
                event_id=process_event_id(AssignEvent.KIND, process, sequence),
                group=self.group,
                timestamp_ms=timestamp_ms,
                assignor=assignor,
                client_id=self._client_id,
                generation=membership.generation,
                duration_seconds=duration_seconds,
                members=members,
                partitions=decision.partitions if decision else 0,
                process=process,
                sequence=sequence,
                cluster_id=membership.cluster_id,
                quality=_quality(decision),
                user_data_errors=decision.assignment.user_data_errors if decision else {},
                error=error_text(error),
            )
        )

    def led(self, led: LedMembers, at_ms: int, session_timeout_ms: int, rebalance_timeout_ms: int) -> None:
        """Report the generation that this member leads, and whose assignment the coordinator accepted at ``at_ms``."""
        cluster_id = self.membership().cluster_id
        self._reporter.emit(
            lambda process, sequence: led.event(
                self.group, at_ms, session_timeout_ms, rebalance_timeout_ms, process, sequence, cluster_id
            )
        )

    def _reprocessed(self, callback: Callback, partitions: Collection[HasTopicPartition]) -> int | None:
        if self._progress is not None:
            with quietly("count the records that are consumed again"):
                if callback is Callback.ASSIGNED:
                    return self._progress.take()
                return self._progress.given_up([(partition.topic, partition.partition) for partition in partitions])
        return None

    def _remember(self, event: MemberEvent) -> MemberEvent:
        if event.callback in _GIVING_UP:
            self._unexplained = event
        return event


def _quality(decision: AssignDecision | None) -> AssignmentQuality | None:
    with quietly("measure an assignment's quality"):
        return decision.quality() if decision else None
    return None


def error_text(error: BaseException | None) -> str | None:
    """Return type and text of an exception, of bounded length, even if its ``str()`` raises; None for None."""
    if error is None:
        return None
    text = type(error).__name__
    with quietly("read an exception's text"):
        text = f"{text}: {error}"
    return text[:ERROR_TEXT_MAX]
