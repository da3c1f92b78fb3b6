"""A consumer with confluent-kafka's methods and the assignors of this package."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any, Self

import confluent_kafka.cimpl
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from rebalance_agent.clients.confluent_assignors.config.client_settings import ClientSettings
from rebalance_agent.clients.confluent_assignors.config.subscribed_topics import SubscribeCall
from rebalance_agent.clients.confluent_assignors.data_methods import DataMethods
from rebalance_agent.clients.confluent_assignors.group_methods import CLOSED, GroupMethods
from rebalance_agent.clients.confluent_assignors.member.committer import Committer, RequestedCommit
from rebalance_agent.clients.confluent_assignors.member.group_member import MemberConsumer
from rebalance_agent.clients.confluent_assignors.member.membership_thread import MembershipThread
from rebalance_agent.clients.confluent_assignors.member.poll_interval import PollInterval
from rebalance_agent.clients.confluent_assignors.member.thread_handover import ThreadHandover
from rebalance_agent.clients.confluent_assignors.offsets import Offsets, OffsetStore, as_partitions, given_offsets
from rebalance_agent.clients.confluent_assignors.rebalancing import Callback, Callbacks, Rebalancing
from rebalance_agent.clients.held_copies import HeldStandbys
from rebalance_agent.clients.participant import Loads
from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.instrumentation import OnEvent

__all__ = ["Consumer"]

CONSUME_SECONDS = 0.02
"""Timeout of one fetch, after which a waiting rebalance is served: the longest time by which a member delays a
rebalance."""

YIELD_SECONDS = 0.001
"""Pause between fetches without records. confluent-kafka admits one thread at a time to a consumer, unfairly: without
the pause, calls of other threads (`committed`, `pause`, ...) would wait until this one ends."""

MESSAGES_MAX = 1_000_000
"""Maximum number of messages of one `consume`, as in confluent-kafka."""


class Consumer(GroupMethods, DataMethods):
    """A consumer with the methods and settings of ``confluent_kafka.Consumer`` and the strategies of this package.

    librdkafka has no API for assignors. So kafka-python is the group member (it joins, sends heartbeats, assigns and
    commits), and librdkafka reads the member's partitions. ``docs/confluent-kafka.md`` lists the differences.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        assignor_config: Mapping[str, str | int | float] | None = None,
        loads: Loads | None = None,
        create_internal_topics: bool = False,
        held_standbys: HeldStandbys | None = None,
        events_url: str | None = None,
        events_token: str | None = None,
        on_event: OnEvent | None = None,
        clock: Clock | None = None,
        **options: Any,  # noqa: ANN401 - confluent-kafka's own, such as logger
    ) -> None:
        """Like ``confluent_kafka.Consumer(config, **options)``.

        Args:
            config: settings of confluent-kafka; ``partition.assignment.strategy`` is a comma-separated list of
                strategies of this package (default: ``range,roundrobin``).
            assignor_config: settings of the strategies, such as ``{"assignment.consumer.weight": 900}``.
            loads: load of each partition, for strategies that balance loads; by default the group's lag.
            create_internal_topics: whether the leader creates missing topics that a strategy needs; otherwise the
                leader's `poll` returns an error that names them.
            held_standbys: returns the application's copies before each join; by default those that were assigned last.
                It and ``loads`` are called on the member's thread, and must not call this consumer.
            events_url: the sidecar's URL; see `rebalance_agent.instrumentation.Instrumentation`.
            events_token: bearer token for the sidecar.
            on_event: called with each event; see `Instrumentation`.
            clock: for times in events, and between polls.
            options: keyword arguments of confluent-kafka.

        Raises:
            InvalidInputError: a setting that cannot be used here; the text names it.
            AssignmentError: an unknown strategy, or an unknown setting of a strategy.
            KafkaException: librdkafka refuses a setting.

        """
        self._clock = clock or SystemClock()
        self._settings = settings = ClientSettings.of(config, assignor_config or {}, self._clock)
        # The library's own class, even where a program has this package's in its place.
        self._data = confluent_kafka.cimpl.Consumer(dict(settings.data), **options)
        self._poll_lock = threading.RLock()  # one thread polls at a time; reentrant for callbacks
        self._closing = self._closed = False
        self._offset_store = OffsetStore()
        self._handover = ThreadHandover()
        self._poll_interval = PollInterval(settings.max_poll_interval_ms, self._clock)
        self._errors: deque[KafkaError] = deque()
        self._finished: deque[RequestedCommit] = deque()
        self._rebalancing = Rebalancing(
            self, self._data, self._offset_store, self._commit_due, cooperative=settings.cooperative
        )
        self._membership = MembershipThread(
            lambda: MemberConsumer(
                self._rebalancing,
                self._handover,
                self._poll_interval,
                cooperative=settings.cooperative,
                loads=loads,
                create_internal_topics=create_internal_topics,
                held_standbys=held_standbys,
                events_url=events_url,
                events_token=events_token,
                on_event=on_event,
                clock=self._clock,
                **settings.member,
            ),
            self._handover,
            self._poll_interval,
            self._offset_store,
            self._errors.append,
            self._clock,
            settings.refresh_seconds,
        )
        self._committer = Committer(
            self._membership.commit,
            self._offset_store,
            self._finished.append,
            self._clock,
            settings.auto_commit_seconds,
        )

    def subscribe(
        self,
        topics: list[str],
        on_assign: Callback | None = None,
        on_revoke: Callback | None = None,
        on_lost: Callback | None = None,
    ) -> None:
        """Like confluent-kafka's; a topic that begins with ``^`` is a regular expression, here Python's."""
        self._check_open()
        call = SubscribeCall(topics)
        self._rebalancing.callbacks = Callbacks(on_assign, on_revoke, on_lost)
        self._poll_interval.touch()
        self._committer.start()
        self._membership.subscribe(call)

    def unsubscribe(self) -> None:
        """Like confluent-kafka's: a later poll revokes the owned partitions, then the member leaves the group."""
        self._check_open()
        self._membership.subscribe(None)

    def poll(self, timeout: float | None = None) -> Message | None:
        """Like confluent-kafka's: one record or error. Callbacks run in this call, and their exceptions are raised."""
        with self._poll_lock, self._poll_interval:
            # The common case: a record is available, and neither a rebalance nor a commit waits.
            if not (self._handover.waiting or self._finished or self._errors or self._closing):
                message = self._data.poll(0)
                if message is not None and self._offset_store.delivers(message, store=self._settings.auto_store):
                    return message
            messages = self._consume(1, timeout)
            return messages[0] if messages else None

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """Like confluent-kafka's, but a rebalance makes it return early with the records that it has."""
        if not 0 < num_messages <= MESSAGES_MAX:
            raise ValueError(f"num_messages must be between 1 and {MESSAGES_MAX} (1M)")
        return self._consume(num_messages, timeout)

    def commit(
        self,
        message: Message | None = None,
        offsets: list[TopicPartition] | None = None,
        asynchronous: bool = True,
    ) -> list[TopicPartition] | None:
        """Like confluent-kafka's, with the member's generation.

        Raises:
            KafkaException: the coordinator refuses it: ``UNKNOWN_MEMBER_ID``, ``ILLEGAL_GENERATION``,
                ``FENCED_INSTANCE_ID``, ``REBALANCE_IN_PROGRESS``, ...; or there is nothing to commit (``_NO_OFFSET``).
        """
        self._check_open()
        given = given_offsets(message, offsets)
        due = self._offset_store.due() if given is None else given
        if not due:
            raise KafkaException(KafkaError(KafkaError._NO_OFFSET, "nothing to commit"))  # noqa: SLF001 - its public name
        self._committer.start()
        if asynchronous:
            self._committer.commit_async(due)
            return None
        self._committer.commit_sync(due)
        return as_partitions(due)

    def store_offsets(self, message: Message | None = None, offsets: list[TopicPartition] | None = None) -> None:
        """Like confluent-kafka's; with ``enable.auto.offset.store`` off.

        Raises:
            KafkaException: a partition is not this consumer's (``_STATE``), or offsets are stored on their own
                (``_INVALID_ARG``).
        """
        self._check_open()
        given = given_offsets(message, offsets)
        if given is None or self._settings.auto_store:
            text = "expected either message or offsets" if given is None else "enable.auto.offset.store must be off"
            raise KafkaException(KafkaError(KafkaError._INVALID_ARG, text))  # noqa: SLF001
        self._offset_store.store(given)

    def close(self) -> None:
        """Like confluent-kafka's: revokes owned partitions, commits stored offsets, leaves the group.

        Raises:
            RuntimeError: it is called in a rebalance callback.
        """
        if self._closed:
            return
        failed: BaseException | None = None
        self._closing = True  # so that a poll in another thread ends
        with self._poll_lock, self._poll_interval:
            if self._handover.busy:
                self._closing = False
                raise RuntimeError("close() is not possible in a rebalance callback")
            self._membership.begin_close()
            while not self._membership.closed(CONSUME_SECONDS):
                try:
                    self._serve()
                except Exception as error:  # noqa: BLE001 - a callback's; raised after everything is closed
                    failed = failed or error
            self._committer.stop()
            self._closed = True
            self._data.close()
            self._report_commits()
        if failed is not None:
            raise failed

    def __enter__(self) -> Self:
        """Like confluent-kafka's."""
        return self

    def __exit__(self, *_raised: object) -> None:
        """Close the consumer."""
        self.close()

    def _consume(self, number: int, timeout: float | None) -> list[Message]:
        """Fetch up to ``number`` records; a waiting rebalance and finished commits are served first."""
        self._check_open()
        until = None if timeout is None or timeout < 0 else self._clock.monotonic() + timeout
        gathered: list[Message] = []
        with self._poll_lock, self._poll_interval:
            while True:
                if self._closing:
                    raise RuntimeError(CLOSED)
                if gathered and (self._handover.waiting or self._finished):
                    return gathered  # return them before a callback that may revoke their partitions, or raise
                self._serve()
                if self._errors:
                    return [*gathered, Message(error=self._errors.popleft())]
                left = (
                    CONSUME_SECONDS
                    if until is None
                    else min(CONSUME_SECONDS, max(0.0, until - self._clock.monotonic()))
                )
                fetched = self._data.consume(number - len(gathered), left)
                gathered += self._delivered(fetched)
                if len(gathered) >= number or (until is not None and self._clock.monotonic() >= until):
                    return gathered
                if not fetched:
                    self._handover.await_offer(YIELD_SECONDS)

    def _delivered(self, messages: list[Message]) -> list[Message]:
        """Return ``messages`` without those of revoked partitions, which librdkafka had fetched before."""
        store = self._settings.auto_store
        return [message for message in messages if self._offset_store.delivers(message, store=store)]

    def _serve(self) -> None:
        if self._handover.waiting:
            self._handover.carry_out()
        if self._finished:
            self._report_commits()

    def _report_commits(self) -> None:
        while self._finished:
            commit = self._finished.popleft()
            if self._settings.on_commit is not None:
                self._settings.on_commit(commit.error, as_partitions(commit.offsets))

    def _commit_due(self, offsets: Offsets) -> None:
        """Commit stored offsets of partitions before they are revoked, with ``enable.auto.commit`` as in librdkafka."""
        if self._settings.auto_commit_seconds is None:
            return
        commit = RequestedCommit(offsets, waited_for=False)
        try:
            self._committer.commit_sync(offsets)
        except KafkaException as error:
            commit.error = error.args[0]
        self._finished.append(commit)
