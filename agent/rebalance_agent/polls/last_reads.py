"""Queries, with ListOffsets and timestamps, when the last records that departed members read were appended.

No records are read: the first offset at or after a time shows whether a member, which read up to its committed offset,
had read a record of that time. A few queries give bounds of the time.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping

from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.errors import ClusterError
from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.tracking.evidence.commits.read_times import CLOCKS_MS, ReadQuestion
from rebalance_agent.tracking.observations import ReadsAppended

__all__ = ["PRECISION_MS", "READS_EVERY_S", "OffsetsAt", "ReadTimesPoll", "last_reads"]

PRECISION_MS = 100
"""Precision (ms) of an answer, if records come at least as often."""

READS_EVERY_S = 5.0
"""Seconds between checks for queries that arrived without a call of `Schedule.soon`."""

_NONE_LATER = -1
"""The offset that brokers return if there is no record at or after a time."""

_log = logging.getLogger(__name__)

OffsetsAt = Callable[[Mapping[Partition, int]], Mapping[Partition, int]]
"""Function that returns the first offset of each partition at or after its time (epoch ms): see
`Cluster.offsets_at`."""


class ReadTimesPoll:
    """Answers and removes the tracker's ``questions`` whenever it is called, and puts `ReadsAppended`."""

    def __init__(self, context: CollectorContext, questions: deque[ReadQuestion]) -> None:
        """Set the source of queries; no query is sent yet."""
        self.questions = questions
        self._context = context

    def __call__(self) -> None:
        """Answer all queries. It never raises: without answers, bounds are only wider."""
        while questions := self._next():
            now_ms = self._context.clock.now_ms()
            try:
                answers: Mapping[ReadQuestion, int | None] = last_reads(
                    questions, self._context.cluster.offsets_at, now_ms
                )
            except ClusterError as error:
                _log.debug("the times of the last reads are unknown: %s", error)
                answers = dict.fromkeys(questions)
            self._context.inbox.offer(ReadsAppended(self._context.clock.now_ms(), answers))

    def _next(self) -> list[ReadQuestion]:
        """Remove and return queries for different partitions, since a request has one time for each partition."""
        taken: dict[Partition, ReadQuestion] = {}
        for _ in range(len(self.questions)):
            question = self.questions.popleft()
            if question.partition in taken:
                self.questions.append(question)
            else:
                taken[question.partition] = question
        return list(taken.values())


def last_reads(questions: Iterable[ReadQuestion], offsets_at: OffsetsAt, now_ms: int) -> dict[ReadQuestion, int | None]:
    """Return the earliest time (epoch ms) when the last record before each query's offset was appended.

    The time is None if no record after ``after_ms`` shows it, if the partition cannot be queried, or if the partition's
    newest records are later than ``now_ms`` by more than `CLOCKS_MS` (then the producers' clocks are ahead). All
    ``questions`` must be about different partitions.

    Raises:
        ClusterError: the cluster does not answer.
    """
    asked = {question.partition: question for question in questions}
    ahead = offsets_at(dict.fromkeys(asked, now_ms + CLOCKS_MS))
    found: dict[ReadQuestion, int | None] = dict.fromkeys(asked.values())
    bounds = {
        partition: (question.after_ms, question.until_ms)
        for partition, question in asked.items()
        if ahead.get(partition) == _NONE_LATER and question.until_ms - question.after_ms > PRECISION_MS
    }
    first = True
    while bounds:
        # If records come all the time, the first query of each partition is enough.
        times = {
            partition: until_ms - PRECISION_MS if first else (after_ms + until_ms) // 2
            for partition, (after_ms, until_ms) in bounds.items()
        }
        offsets, left = offsets_at(times), {}
        for partition, at_ms in times.items():
            question, (after_ms, until_ms) = asked[partition], bounds[partition]
            offset = offsets.get(partition)
            if offset is None:
                continue
            if _NONE_LATER < offset < question.offset:
                found[question] = after_ms = at_ms
            else:
                until_ms = at_ms
            if until_ms - after_ms > PRECISION_MS:
                left[partition] = after_ms, until_ms
        bounds, first = left, False
    return found
