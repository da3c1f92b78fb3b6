"""The thread that keeps this consumer in its group, whatever the application does meanwhile."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

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

__all__ = ["MembershipThread"]

_logger = logging.getLogger(__name__)

POLL_MS = 200
"""One poll of the member: how long ``subscribe``, ``unsubscribe`` and ``close`` may wait before they are heard."""

PATIENCE_SECONDS = 1.0
"""Between attempts when the group cannot be joined."""

LEAVE_MS = 5_000
"""For the group's coordinator to take a leave. A member that joins at that moment is heard only after the join."""

COMMIT_MS = 30_000
"""For a commit, with all its attempts; kafka-python's own default."""

REJOIN_SECONDS = 0.05
"""Between attempts to commit while the member is joining: only a moment lies between JoinGroup and SyncGroup."""


class MembershipThread:
    """Joins and leaves as told, and tells ``report`` what goes wrong. `commit` may be called by another thread."""

    def __init__(
        self,
        connect: Callable[[], MemberConsumer],
        handover: ThreadHandover,
        watch: PollInterval,
        ledger: OffsetStore,
        report: Callable[[KafkaError], None],
        clock: Clock,
        refresh_seconds: float,
    ) -> None:
        """Make the member with ``connect`` when it is first needed.

        Patterns are held against the cluster's topics every ``refresh_seconds``.
        """
        self._connect = connect
        self._handover = handover
        self._watch = watch
        self._ledger = ledger
        self._report = report
        self._clock = clock
        self._refresh_seconds = refresh_seconds
        self._changed = threading.Condition()
        self._wanted: SubscribeCall | None = None
        self._closing = False
        self._fenced_by: kafka.errors.FencedInstanceIdError | None = None
        self._member: MemberConsumer | None = None
        self._in_group = threading.Lock()  # so that no commit is sent as from nobody while the member leaves
        self._following: tuple[SubscribeCall, tuple[str, ...]] | None = None
        self._looked = 0.0
        self._thread = threading.Thread(target=self._run, name="rebalance-agent-membership", daemon=True)

    def subscribe(self, wanted: SubscribeCall | None) -> None:
        """From soon on be a member for ``wanted``; None: leave."""
        with self._changed:
            self._wanted = wanted
            self._changed.notify_all()
        if self._thread.ident is None:
            self._thread.start()

    def begin_close(self) -> None:
        """From soon on leave and end; the application goes on serving the handover until `closed`."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()

    def closed(self, timeout_seconds: float) -> bool:
        """Wait for the end; False if it has not come in time."""
        if self._thread.ident is not None:
            self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    @property
    def group_metadata(self) -> Any | None:  # noqa: ANN401 - kafka-python's ConsumerGroupMetadata
        """Generation and ids as kafka-python has them; None before there is a member."""
        return None if self._member is None else self._member.group_metadata()

    @property
    def standbys(self) -> frozenset[tuple[str, int]]:
        """The (topic, partition) that the last assignment asks for a copy of."""
        return frozenset() if self._member is None else frozenset(tuple(each) for each in self._member.standbys())

    def commit(self, offsets: Offsets) -> None:
        """Commit as a member of the present generation, and wait for the answer.

        Raises:
            KafkaException: the coordinator refuses it (``UNKNOWN_MEMBER_ID``, ``ILLEGAL_GENERATION``,
                ``FENCED_INSTANCE_ID``, ...), or cannot be reached.
        """
        until = self._clock.monotonic() + COMMIT_MS / 1000
        while True:
            try:
                with self._in_group:
                    member = self._member
                    if member is None or not self._topics:
                        raise KafkaException(not_a_member())
                    member.commit(offsets, timeout_ms=COMMIT_MS)
            except kafka.errors.RebalanceInProgressError as error:
                if self._clock.monotonic() > until:
                    raise KafkaException(confluent_error(error)) from error
                threading.Event().wait(REJOIN_SECONDS)
            except kafka.errors.KafkaError as error:
                if isinstance(error, kafka.errors.FencedInstanceIdError):
                    self._fenced_by = error  # kafka-python's heartbeats stop without a word when they are told so
                raise KafkaException(confluent_error(error)) from error
            else:
                return

    @property
    def _topics(self) -> tuple[str, ...]:
        return () if self._following is None else self._following[1]

    def _run(self) -> None:
        trouble = ""
        while not self._closing:
            try:
                self._round()
            except Exception as error:  # noqa: BLE001 - whatever it is: the member must not silently be none
                if isinstance(error.__cause__, Abandoned):
                    self._lose()
                    continue
                if isinstance(error, kafka.errors.FencedInstanceIdError):
                    self._end_fenced(error)
                else:
                    trouble = self._say(error, trouble)
                self._pause(PATIENCE_SECONDS)
            else:
                trouble = ""
        self._close()

    def _round(self) -> None:
        if self._fenced_by is not None and self._following is not None:
            raise self._fenced_by
        with self._changed:
            wanted = self._wanted
            if self._following is None and (wanted is None or self._fenced_by is not None):
                self._changed.wait_for(lambda: self._closing or self._wanted is not wanted)
                return
        if wanted is None:
            self._hand_back()
            self._leave()
            return
        member = self._member = self._member or self._connect()
        self._follow(member, wanted)
        if not self._topics:
            self._pause(self._refresh_seconds)
            return
        member.poll(timeout_ms=POLL_MS)
        if self._watch.exceeded:
            self._lose()

    def _follow(self, member: MemberConsumer, wanted: SubscribeCall) -> None:
        current = self._following
        now = self._clock.monotonic()
        known = current is not None and current[0] is wanted
        if known and not (wanted.changes and now - self._looked >= self._refresh_seconds):
            return
        topics = wanted.among(member.known_topics)
        self._looked = now
        if topics != self._topics:
            if topics:
                member.follow(topics)
            else:
                self._hand_back()
                self._leave()
        self._following = (wanted, topics)

    def _hand_back(self) -> None:
        """Before the member leaves on the application's wish: what it owns is revoked."""
        member = self._member
        owned = self._ledger.owned
        if member is None or not owned:
            return
        callback = member.revoked_callback if member.joined else member.lost_callback
        task = Task(partial(callback, _partitions(owned)))
        self._handover.offer(task)
        while not self._handover.await_done(task, PATIENCE_SECONDS):
            if self._watch.exceeded and self._handover.withdraw(task):
                self._lose()
                return

    def _lose(self) -> None:
        """The application polls too rarely: leave at once (KIP-62), tell it when it comes, and begin anew."""
        late_ms = max(0, round(-1000 * self._watch.remaining_seconds))
        self._leave()
        self._report(
            KafkaError(
                KafkaError._MAX_POLL_EXCEEDED,  # noqa: SLF001
                f"Application maximum poll interval ({self._watch.interval_ms}ms) exceeded by {late_ms}ms "
                "(adjust max.poll.interval.ms for long-running message processing): leaving group",
            )
        )
        self._lost()

    def _lost(self) -> None:
        """Tell the application what is not its own any more, and wait until it knows."""
        member = self._member
        owned = self._ledger.owned
        callback = partial(member.lost_callback, _partitions(owned)) if member is not None and owned else _nothing
        task = Task(callback)
        self._handover.offer(task)
        while not self._handover.await_done(task, PATIENCE_SECONDS):
            pass

    def _leave(self) -> None:
        with self._in_group:
            if self._member is not None and self._topics:
                _quietly(self._member.leave)
            self._following = None

    def _end_fenced(self, error: kafka.errors.FencedInstanceIdError) -> None:
        """Another consumer has this one's ``group.instance.id``: there is no way back in."""
        self._fenced_by = error
        self._leave()
        self._report(confluent_error(error))
        self._lost()

    def _close(self) -> None:
        try:
            self._hand_back()
        finally:
            if self._member is not None:
                _quietly(partial(self._member.close, autocommit=False, timeout_ms=LEAVE_MS))

    def _say(self, error: Exception, before: str) -> str:
        text = f"{type(error).__name__}: {error}"
        if text != before:
            _logger.warning("the group cannot be joined: %s", text)
            if not (isinstance(error, ClusterError) or getattr(error, "retriable", False)):
                self._report(confluent_error(error))
        return text

    def _pause(self, seconds: float) -> None:
        with self._changed:
            wanted = self._wanted
            self._changed.wait_for(lambda: self._closing or self._wanted is not wanted, seconds)


def _partitions(owned: frozenset[tuple[str, int]]) -> frozenset[kafka.TopicPartition]:
    return frozenset(kafka.TopicPartition(*each) for each in owned)


def _quietly(leave: Callable[[], object]) -> None:
    """Who does not hear that the member leaves, finds out when its session ends."""
    try:
        leave()
    except Exception:
        _logger.exception("the group was not left in good order")


def _nothing() -> None:
    """There was nothing to lose; that the application polls again is what was waited for."""
