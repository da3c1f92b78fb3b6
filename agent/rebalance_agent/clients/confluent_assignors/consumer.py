"""confluent-kafka's consumer with assignors of one's own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from rebalance_agent.clients.confluent_assignors.config.client_settings import ClientSettings
from rebalance_agent.clients.confluent_assignors.config.subscribed_topics import SubscribeCall
from rebalance_agent.clients.confluent_assignors.data_methods import DataMethods
from rebalance_agent.clients.confluent_assignors.group_methods import CLOSED, GroupMethods
from rebalance_agent.clients.confluent_assignors.member.committer import Commit, Committer
from rebalance_agent.clients.confluent_assignors.member.group_member import MemberConsumer
from rebalance_agent.clients.confluent_assignors.member.membership_thread import MembershipThread
from rebalance_agent.clients.confluent_assignors.member.poll_interval import PollInterval
from rebalance_agent.clients.confluent_assignors.member.thread_handover import ThreadHandover
from rebalance_agent.clients.confluent_assignors.offsets import Offsets, OffsetStore, by_partition, from_message
from rebalance_agent.clients.confluent_assignors.rebalancing import Callback, Callbacks, Rebalancing
from rebalance_agent.clients.held_copies import HeldStandbys
from rebalance_agent.clients.participant import Loads
from rebalance_agent.clock import Clock, SystemClock

__all__ = ["Consumer"]

SLICE_SECONDS = 0.02
"""One look for records, after which a rebalance is looked for: what one member adds to a rebalance at the most."""

BREATH_SECONDS = 0.001
"""Between looks that find nothing. confluent-kafka lets one thread at a time into a consumer, and is not fair: without
it a call from another thread (`committed`, `pause`, ...) would wait as long as this one looks."""

MESSAGES_MAX = 1_000_000
"""Of one `consume`: confluent-kafka's own limit."""


class Consumer(GroupMethods, DataMethods):
    """``confluent_kafka.Consumer`` by its methods and its configuration, in a group whose assignors are this package's.

    librdkafka cannot be given an assignor. So kafka-python is the member (it joins, sends heartbeats, assigns and
    commits), and librdkafka reads what the group gives the member. ``docs/confluent-kafka.md`` says what differs.
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
        clock: Clock | None = None,
        **options: Any,  # noqa: ANN401 - confluent-kafka's own, such as logger
    ) -> None:
        """As ``confluent_kafka.Consumer(config, **options)``.

        Args:
            config: confluent-kafka's; ``partition.assignment.strategy`` names strategies of this package, with commas
                between them (default: ``range,roundrobin``).
            assignor_config: settings of the strategies, such as ``{"assignment.consumer.weight": 900}``.
            loads: what each partition costs, for strategies that balance loads; by default the group's lag.
            create_internal_topics: whether the leader creates topics that a strategy needs and that are missing;
                otherwise `poll` returns an error there that names them.
            held_standbys: which copies the application has, asked before each join; by default those last assigned.
                It and ``loads`` are called on the member's thread, and never ask this consumer.
            events_url: the sidecar's; see `rebalance_agent.instrumentation.Instrumentation`.
            events_token: bearer token for it.
            clock: for times in events, and between polls.
            options: confluent-kafka's.

        Raises:
            InvalidInputError: a setting that cannot be used here; the text names it.
            AssignmentError: a strategy or setting of a strategy that there is not.
            KafkaException: librdkafka refuses a setting.

        """
        self._clock = clock or SystemClock()
        self._settings = settings = ClientSettings.of(config, assignor_config or {}, self._clock)
        self._data = confluent_kafka.Consumer(dict(settings.data), **options)
        self._turn = threading.RLock()  # one thread polls at a time; a callback may call anything
        self._closing = self._closed = False
        self._ledger = OffsetStore()
        self._handover = ThreadHandover()
        self._watch = PollInterval(settings.max_poll_interval_ms, self._clock)
        self._errors: deque[KafkaError] = deque()
        self._finished: deque[Commit] = deque()
        self._rebalancing = Rebalancing(
            self, self._data, self._ledger, self._commit_due, cooperative=settings.cooperative
        )
        self._membership = MembershipThread(
            lambda: MemberConsumer(
                self._rebalancing,
                self._handover,
                self._watch,
                cooperative=settings.cooperative,
                loads=loads,
                create_internal_topics=create_internal_topics,
                held_standbys=held_standbys,
                events_url=events_url,
                events_token=events_token,
                clock=self._clock,
                **settings.member,
            ),
            self._handover,
            self._watch,
            self._ledger,
            self._errors.append,
            self._clock,
            settings.refresh_seconds,
        )
        self._committer = Committer(
            self._membership.commit, self._ledger, self._finished.append, self._clock, settings.auto_commit_seconds
        )

    def subscribe(
        self,
        topics: list[str],
        on_assign: Callback | None = None,
        on_revoke: Callback | None = None,
        on_lost: Callback | None = None,
    ) -> None:
        """As confluent-kafka's; a topic that begins with ``^`` is a regular expression, here Python's."""
        self._open()
        wanted = SubscribeCall(topics)
        self._rebalancing.callbacks = Callbacks(on_assign, on_revoke, on_lost)
        self._watch.touch()
        self._committer.start()
        self._membership.subscribe(wanted)

    def unsubscribe(self) -> None:
        """As confluent-kafka's: what is owned is revoked in one of the next polls, and then the group is left."""
        self._open()
        self._membership.subscribe(None)

    def poll(self, timeout: float | None = None) -> Message | None:
        """As confluent-kafka's: one record, or an event; callbacks run in here, and what they raise comes out."""
        with self._turn, self._watch:
            # Most often there is a record, and nothing else to do first.
            if not (self._handover.waiting or self._finished or self._errors or self._closing):
                message = self._data.poll(0)
                if message is not None and self._ledger.delivers(message, store=self._settings.auto_store):
                    return message
            messages = self._gather(1, timeout)
            return messages[0] if messages else None

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """As confluent-kafka's, but a rebalance ends it early with the records that there are."""
        if not 0 < num_messages <= MESSAGES_MAX:
            raise ValueError(f"num_messages must be between 1 and {MESSAGES_MAX} (1M)")
        return self._gather(num_messages, timeout)

    def commit(
        self,
        message: Message | None = None,
        offsets: list[TopicPartition] | None = None,
        asynchronous: bool = True,
    ) -> list[TopicPartition] | None:
        """As confluent-kafka's, with the member's generation.

        Raises:
            KafkaException: the coordinator refuses it: ``UNKNOWN_MEMBER_ID``, ``ILLEGAL_GENERATION``,
                ``FENCED_INSTANCE_ID``, ``REBALANCE_IN_PROGRESS``, ...; or there is nothing to commit (``_NO_OFFSET``).
        """
        self._open()
        given = self._given(message, offsets)
        due = self._ledger.due() if given is None else given
        if not due:
            raise KafkaException(KafkaError(KafkaError._NO_OFFSET, "nothing to commit"))  # noqa: SLF001 - its public name
        self._committer.start()
        if asynchronous:
            self._committer.soon(due)
            return None
        self._committer.now(due)
        return _answered(due)

    def store_offsets(self, message: Message | None = None, offsets: list[TopicPartition] | None = None) -> None:
        """As confluent-kafka's; with ``enable.auto.offset.store`` off.

        Raises:
            KafkaException: a partition is not this consumer's (``_STATE``), or offsets are stored on their own
                (``_INVALID_ARG``).
        """
        self._open()
        given = self._given(message, offsets)
        if given is None or self._settings.auto_store:
            text = "expected either message or offsets" if given is None else "enable.auto.offset.store must be off"
            raise KafkaException(KafkaError(KafkaError._INVALID_ARG, text))  # noqa: SLF001
        self._ledger.store(given)

    def close(self) -> None:
        """As confluent-kafka's: revokes what is owned, commits what is stored, leaves the group.

        Raises:
            RuntimeError: it is called in a rebalance callback.
        """
        if self._closed:
            return
        failed: BaseException | None = None
        self._closing = True  # so that a poll in another thread ends
        with self._turn, self._watch:
            if self._handover.busy:
                self._closing = False
                raise RuntimeError("close() in a rebalance callback: the group waits for the callback")
            self._membership.begin_close()
            while not self._membership.closed(SLICE_SECONDS):
                try:
                    self._serve()
                except Exception as error:  # noqa: BLE001 - a callback's: first all is closed
                    failed = failed or error
            self._committer.stop()
            self._closed = True
            self._data.close()
            self._tell_commits()
        if failed is not None:
            raise failed

    def __enter__(self) -> Self:
        """As confluent-kafka's."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _gather(self, number: int, timeout: float | None) -> list[Message]:
        """Up to ``number`` records; whatever else there is to do is done first."""
        self._open()
        until = None if timeout is None or timeout < 0 else self._clock.monotonic() + timeout
        gathered: list[Message] = []
        with self._turn, self._watch:
            while True:
                if self._closing:
                    raise RuntimeError(CLOSED)
                if gathered and (self._handover.waiting or self._finished):
                    return gathered  # before a callback runs that may end with their partitions, or raise
                self._serve()
                if self._errors:
                    return [*gathered, Message(error=self._errors.popleft())]
                left = SLICE_SECONDS if until is None else min(SLICE_SECONDS, max(0.0, until - self._clock.monotonic()))
                found = self._data.consume(number - len(gathered), left)
                gathered += self._delivered(found)
                if len(gathered) >= number or (until is not None and self._clock.monotonic() >= until):
                    return gathered
                if not found:
                    self._handover.await_offer(BREATH_SECONDS)

    def _delivered(self, messages: list[Message]) -> list[Message]:
        """Those that may go to the application: what librdkafka had ready of partitions that went, stays."""
        store = self._settings.auto_store
        return [each for each in messages if self._ledger.delivers(each, store=store)]

    def _serve(self) -> None:
        if self._handover.waiting:
            self._handover.carry_out()
        if self._finished:
            self._tell_commits()

    def _tell_commits(self) -> None:
        while self._finished:
            commit = self._finished.popleft()
            if self._settings.on_commit is not None:
                self._settings.on_commit(commit.error, _answered(commit.offsets))

    def _commit_due(self, offsets: Offsets) -> None:
        """Before partitions go: what is stored of them, as confluent-kafka does with ``enable.auto.commit``."""
        if self._settings.auto_commit_seconds is None:
            return
        commit = Commit(offsets, waited_for=False)
        try:
            self._committer.now(offsets)
        except KafkaException as error:
            commit.error = error.args[0]
        self._finished.append(commit)

    @staticmethod
    def _given(message: Message | None, offsets: list[TopicPartition] | None) -> Offsets | None:
        if message is not None and offsets is not None:
            raise ValueError("message and offsets are mutually exclusive")
        if message is not None:
            return from_message(message)
        return None if offsets is None else by_partition(offsets)


def _answered(offsets: Offsets) -> list[TopicPartition]:
    """Committed offsets as confluent-kafka lists them."""
    return [
        TopicPartition(partition.topic, partition.partition, offset.offset) for partition, offset in offsets.items()
    ]
