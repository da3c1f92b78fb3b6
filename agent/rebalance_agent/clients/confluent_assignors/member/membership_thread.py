"""The thread that polls the group member, so that it stays in the group, independent of the application's calls."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import kafka
import kafka.errors
from confluent_kafka import KafkaError, KafkaException

from rebalance_agent.clients.confluent_assignors.config.subscribed_topics import SubscribeCall
from rebalance_agent.clients.confluent_assignors.kafka_errors import confluent_error, not_a_member
from rebalance_agent.clients.confluent_assignors.member.group_member import MemberConsumer
from rebalance_agent.clients.confluent_assignors.member.poll_interval import PollInterval
from rebalance_agent.clients.confluent_assignors.member.thread_handover import Abandoned, Task, ThreadHandover
from rebalance_agent.clients.confluent_assignors.offsets import Offsets, OffsetStore
from rebalance_agent.clock import Clock
from rebalance_agent.errors import ClusterError
from rebalance_agent.model.subscription import UNKNOWN_GENERATION

__all__ = ["MembershipThread"]

_logger = logging.getLogger(__name__)

POLL_MS = 200
"""Timeout of the member's poll: maximum delay before ``subscribe``, ``unsubscribe`` and ``close`` take effect."""

RETRY_SECONDS = 1.0
"""Delay between attempts to join the group, and between checks of a handed over task."""

LEAVE_MS = 5_000
"""Timeout of the member's close. A member that is joining can leave only after the join."""

COMMIT_MS = 30_000
"""Timeout of a commit with its retries; kafka-python's own default."""

REJOIN_SECONDS = 0.05
"""Delay between attempts to commit while the member joins: SyncGroup follows JoinGroup soon."""


@dataclass(eq=False)
class MembershipThread:
    """Joins and leaves on request, and commits. Its methods may be called by other threads.

    No thread runs before `subscribe`.

    Args:
        connect: creates the member when it is first needed.
        handover: passes callbacks to the application's thread.
        poll_interval: detects whether the application still polls.
        offset_store: the owned partitions.
        report: called with errors that the application's poll has to return.
        clock: for commits and patterns.
        refresh_seconds: how often patterns are matched against the cluster's topics.
    """

    connect: Callable[[], MemberConsumer]
    handover: ThreadHandover
    poll_interval: PollInterval
    offset_store: OffsetStore
    report: Callable[[KafkaError], None]
    clock: Clock
    refresh_seconds: float

    def __post_init__(self) -> None:
        """No thread runs before `subscribe`."""
        self._changed = threading.Condition()
        self._requested: SubscribeCall | None = None
        self._closing = False
        self._fenced_by: kafka.errors.FencedInstanceIdError | None = None
        self._member: MemberConsumer | None = None
        self._in_group = threading.Lock()  # held while the member leaves, so that no commit is sent without a member id
        self._subscribed: tuple[SubscribeCall, tuple[str, ...]] | None = None
        self._listed_seconds = 0.0
        self._thread = threading.Thread(target=self._run, name="rebalance-agent-membership", daemon=True)

    def subscribe(self, requested: SubscribeCall | None) -> None:
        """Join with ``requested``, or leave the group if it is None; the thread does this soon."""
        with self._changed:
            self._requested = requested
            self._changed.notify_all()
        if self._thread.ident is None:
            self._thread.start()

    def begin_close(self) -> None:
        """Make the thread leave and end. The application has to serve the handover until `closed`."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def closed(self, timeout_seconds: float) -> bool:
        """Wait for the thread to end; False after ``timeout_seconds``."""
        if self._thread.ident is not None:
            self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    @property
    def identity(self) -> tuple[int, str]:
        """Generation and member id; -1 and an empty string before the first join."""
        metadata = self._member.group_metadata() if self._member else None
        return (UNKNOWN_GENERATION, "") if metadata is None else (metadata.generation_id, metadata.member_id)

    @property
    def standbys(self) -> frozenset[tuple[str, int]]:
        """(topic, partition) pairs that this consumer has to keep a copy of, by the last assignment."""
        return (
            frozenset()
            if self._member is None
            else frozenset(tuple(partition) for partition in self._member.standbys())
        )

    def rejoin(self) -> None:
        """Make the member join again soon, if it is in the group."""
        if (member := self._member) is not None:
            member.enforce_rebalance()

    def commit(self, offsets: Offsets) -> None:
        """Commit with the member's current generation, and wait for the response.

        Raises:
            KafkaException: the coordinator refuses the commit (``UNKNOWN_MEMBER_ID``, ``ILLEGAL_GENERATION``,
                ``FENCED_INSTANCE_ID``, ...), or cannot be reached.
        """
        until = self.clock.monotonic() + COMMIT_MS / 1000
        while True:
            try:
                with self._in_group:
                    member = self._member
                    if member is None or not self._topics:
                        raise KafkaException(not_a_member())
                    member.commit(offsets, timeout_ms=COMMIT_MS)
            except kafka.errors.RebalanceInProgressError as error:
                if self.clock.monotonic() > until:
                    raise KafkaException(confluent_error(error)) from error
                threading.Event().wait(REJOIN_SECONDS)
            except kafka.errors.KafkaError as error:
                if isinstance(error, kafka.errors.FencedInstanceIdError):
                    self._fenced_by = error  # kafka-python's heartbeats stop silently after this error
                raise KafkaException(confluent_error(error)) from error
            else:
                return

    @property
    def _topics(self) -> tuple[str, ...]:
        return () if self._subscribed is None else self._subscribed[1]

    def _run(self) -> None:
        last_failure = ""
        while not self._closing:
            try:
                self._run_once()
            except Exception as error:  # noqa: BLE001 - the thread has to continue, whatever failed
                if isinstance(error.__cause__, Abandoned):
                    self._leave_late()
                    continue
                if isinstance(error, kafka.errors.FencedInstanceIdError):
                    self._end_fenced(error)
                else:
                    last_failure = self._report_failure(error, last_failure)
                self._pause(RETRY_SECONDS)
            else:
                last_failure = ""
        self._close()

    def _run_once(self) -> None:
        if self._fenced_by is not None and self._subscribed is not None:
            raise self._fenced_by
        with self._changed:
            requested = self._requested
            if self._subscribed is None and (requested is None or self._fenced_by is not None):
                self._changed.wait_for(lambda: self._closing or self._requested is not requested)
                return
        if requested is None:
            self._revoke_owned()
            self._leave()
            return
        member = self._member = self._member or self.connect()
        self._follow(member, requested)
        if not self._topics:
            self._pause(self.refresh_seconds)
            return
        member.poll(timeout_ms=POLL_MS)
        if self.poll_interval.exceeded:
            self._leave_late()

    def _follow(self, member: MemberConsumer, requested: SubscribeCall) -> None:
        current = self._subscribed
        now = self.clock.monotonic()
        unchanged = current is not None and current[0] is requested
        if unchanged and not (requested.has_patterns and now - self._listed_seconds >= self.refresh_seconds):
            return
        topics = requested.resolve(member.list_topics)
        self._listed_seconds = now
        if topics != self._topics:
            if topics:
                member.follow(topics)
            else:
                self._revoke_owned()
                self._leave()
        self._subscribed = (requested, topics)

    def _revoke_owned(self) -> None:
        """Make the application revoke owned partitions before the member leaves on request."""
        member = self._member
        owned = self.offset_store.owned
        if member is None or not owned:
            return
        callback = member.timed.on_partitions_revoked if member.joined else member.timed.on_partitions_lost
        task = Task(partial(callback, _partitions(owned)))
        self.handover.offer(task)
        while not self.handover.await_done(task, RETRY_SECONDS):
            if self.poll_interval.exceeded and self.handover.withdraw(task):
                self._leave_late()
                return

    def _leave_late(self) -> None:
        """Leave the group because the application polls too rarely (KIP-62), and report it at its next poll."""
        late_ms = max(0, round(-1000 * self.poll_interval.remaining_seconds))
        self._leave()
        self.report(
            KafkaError(
                KafkaError._MAX_POLL_EXCEEDED,  # noqa: SLF001
                f"Application maximum poll interval ({self.poll_interval.interval_ms}ms) exceeded by {late_ms}ms "
                "(adjust max.poll.interval.ms for long-running message processing): leaving group",
            )
        )
        self._hand_over_lost()

    def _hand_over_lost(self) -> None:
        """Make the application run the lost callback, and wait for it."""
        member = self._member
        owned = self.offset_store.owned
        callback = partial(member.timed.on_partitions_lost, _partitions(owned)) if member and owned else _nothing
        task = Task(callback)
        self.handover.offer(task)
        while not self.handover.await_done(task, RETRY_SECONDS):
            pass

    def _leave(self) -> None:
        with self._in_group:
            if self._member is not None and self._topics:
                _log_failure(self._member.leave)
            self._subscribed = None

    def _end_fenced(self, error: kafka.errors.FencedInstanceIdError) -> None:
        """Leave permanently: another consumer has joined with this consumer's ``group.instance.id``."""
        self._fenced_by = error
        self._leave()
        self.report(confluent_error(error))
        self._hand_over_lost()

    def _close(self) -> None:
        try:
            self._revoke_owned()
        finally:
            if self._member is not None:
                _log_failure(partial(self._member.close, autocommit=False, timeout_ms=LEAVE_MS))

    def _report_failure(self, error: Exception, last_failure: str) -> str:
        text = f"{type(error).__name__}: {error}"
        if text != last_failure:
            _logger.warning("cannot join the group: %s", text)
            if not (isinstance(error, ClusterError) or getattr(error, "retriable", False)):
                self.report(confluent_error(error))
        return text

    def _pause(self, seconds: float) -> None:
        with self._changed:
            requested = self._requested
            self._changed.wait_for(lambda: self._closing or self._requested is not requested, seconds)


def _partitions(owned: frozenset[tuple[str, int]]) -> frozenset[kafka.TopicPartition]:
    return frozenset(kafka.TopicPartition(*partition) for partition in owned)


def _log_failure(leave: Callable[[], object]) -> None:
    """Call ``leave`` and log its failure: without a LeaveGroup the member's session ends later."""
    try:
        leave()
    except Exception:
        _logger.exception("leaving the group failed")


def _nothing() -> None:
    """Do nothing: a task that only waits until the application polls again."""
