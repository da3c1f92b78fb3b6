"""Describes groups and reads their committed offsets in a separate process, because some answers end the process.

librdkafka 2.16 aborts its process (``rd_kafka_admin_response_parse: Assertion `rko_result' failed``) when a member's
assignment is a single byte. A group's leader writes the assignments and brokers do not check them, so any principal
with a group could end every process that describes it. This module finds such groups.

librdkafka also aborts the process if a broker that is no longer a group's coordinator answers a request for committed
offsets (librdkafka's issue 5040): an admin client dereferences a null pointer. The group is not the cause, so its
request is sent again.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.cluster.describing.answer_lines import (
    GroupAnswer,
    offsets_request_line,
    read_answer,
    read_offsets,
    request_line,
)
from rebalance_agent.cluster.describing.running_process import ProcessEndedError, RunningProcess
from rebalance_agent.errors import ClusterError
from rebalance_agent.model.generation_diff import Partition

__all__ = ["ASKED_AGAIN_S", "DESCRIBE_S", "FATAL_MAX", "PROCESS", "STARTS_MAX", "IsolatedDescriber"]

DESCRIBE_S = 15.0
"""Longest time (seconds) for all groups of one call, including restarts of the process."""

STARTS_MAX = 6
"""Maximum number of processes that one call starts: each takes 0.2 s of a processor. The next call continues with the
remaining groups."""

GROUPS_MAX = 20
"""Maximum number of groups whose descriptions are requested at once: all their members' assignments are in memory."""

ASKED_AGAIN_S = 600.0
"""Seconds for which a group whose description ended two processes is not described."""

FATAL_MAX = 10_000
"""Maximum number of groups kept for `ASKED_AGAIN_S`; the oldest are dropped first."""

PROCESS = ("-P", "-m", "rebalance_agent.cluster.describing.describing_process")
"""Arguments for the Python interpreter."""

_START_S = 10.0
_LATER_S = 2.0
"""Seconds after the timeout of a request within which the process must write the answers it has."""

_log = logging.getLogger(__name__)

_Answers = dict[str, Future[Any]]


class _Question(NamedTuple):
    """``encode`` returns the request for groups; ``read`` returns the group and the answer in a line.

    ``by_group``: whether a group's own data can end the process.
    """

    encode: Callable[[Sequence[str]], bytes]
    read: Callable[[bytes], tuple[str, Future[Any]]]
    by_group: bool


_OFFSETS = _Question(offsets_request_line, read_offsets, by_group=False)


class IsolatedDescriber:
    """Describes groups with librdkafka's ``properties``. Thread-safe; callers wait for each other."""

    def __init__(
        self,
        properties: Mapping[str, str],
        timeout: float,
        clock: Clock | None = None,
        process: Sequence[str] = PROCESS,
    ) -> None:
        """Set the arguments; no process is started yet. ``timeout``: seconds for the answers to one request."""
        self._properties, self._timeout = dict(properties), timeout
        self._clock, self._arguments = clock or SystemClock(), (*process, str(timeout))
        self._lock = threading.Lock()
        self._running: RunningProcess | None = None
        self._starts = 0
        self._fatal: dict[str, float] = {}
        self._ending: weakref.finalize[[], IsolatedDescriber] | None = None

    def __call__(self, groups: Sequence[str], *, operations: bool = False) -> dict[str, Future[GroupAnswer]]:
        """Return group -> a done future with its answer or a `KafkaException`. This takes at most `DESCRIBE_S`.

        With ``operations``, answers contain the allowed operations.

        Raises:
            ClusterError: no process can be started.
        """
        return self._asked(groups, _Question(partial(request_line, operations=operations), read_answer, by_group=True))

    def committed(self, groups: Sequence[str]) -> dict[str, Future[dict[Partition, int]]]:
        """Return group -> a done future with its committed offsets or a `KafkaException`; limits: see `__call__`."""
        return self._asked(groups, _OFFSETS)

    def _asked(self, groups: Sequence[str], question: _Question) -> _Answers:
        with self._lock:
            now, self._starts = self._clock.monotonic(), 0
            self._fatal = {group: until for group, until in self._fatal.items() if until > now}
            asked = [group for group in dict.fromkeys(groups) if not (question.by_group and group in self._fatal)]
            answers: _Answers = {}
            groups_max = GROUPS_MAX if question.by_group else max(1, len(asked))
            for start in range(0, len(asked), groups_max):
                part = asked[start : start + groups_max]
                if start and self._clock.monotonic() >= now + DESCRIBE_S:
                    break
                try:
                    answers |= self._exchange(part, question)
                except ProcessEndedError:
                    answers |= self._one_by_one(part, question, now + DESCRIBE_S)
        return {group: answers.get(group) or _unanswered() for group in groups}

    def _one_by_one(self, groups: Sequence[str], question: _Question, deadline: float) -> _Answers:
        answers: _Answers = {}
        ends: dict[str, int] = dict.fromkeys(groups, 0)
        while ends and self._clock.monotonic() < deadline and (self._running or self._starts < STARTS_MAX):
            group = next(iter(ends))
            try:
                answers.update(self._exchange([group], question))
                del ends[group]
            except ProcessEndedError:
                ends[group] += 1
            # A late answer to an earlier request can also end the process: only the second time is this group the
            # cause.
            if ends.get(group, 0) > 1:
                del ends[group]
                if question.by_group:
                    self._exclude(group)
        return answers

    def _exchange(self, groups: Sequence[str], question: _Question) -> _Answers:
        """Ask for all ``groups`` at once.

        Raises:
            ClusterError: no process can be started.
            ProcessEndedError: an answer ended the process.
        """
        if not groups:
            return {}
        if self._running and self._running.ended():
            self._end()
        running = self._running or self._start()
        try:
            lines = running.exchange(question.encode(groups), self._timeout + _LATER_S)
        except (ProcessEndedError, TimeoutError) as error:
            self._end()
            if isinstance(error, TimeoutError):
                return {}
            raise
        return dict(map(question.read, lines))

    def _start(self) -> RunningProcess:
        self._starts += 1
        try:
            running = RunningProcess(self._arguments, self._properties, self._clock, _START_S)
        except (OSError, ProcessEndedError) as error:
            raise ClusterError(
                f"describing groups: the separate process cannot be started: {str(error) or 'it ended'}"
            ) from None
        self._running = running
        self._ending = weakref.finalize(self, running.end)
        return running

    def _end(self) -> None:
        if self._ending:
            self._ending()
        self._running = self._ending = None

    def _exclude(self, group: str) -> None:
        _log.warning(
            "group %r is not described for %.0f s: librdkafka aborts the process that reads the description",
            group,
            ASKED_AGAIN_S,
        )
        self._fatal[group] = self._clock.monotonic() + ASKED_AGAIN_S
        while len(self._fatal) > FATAL_MAX:
            del self._fatal[next(iter(self._fatal))]


def _unanswered() -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))  # noqa: SLF001 - librdkafka's own spelling
    return future
