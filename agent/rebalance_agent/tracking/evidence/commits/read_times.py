"""Keeps queries for the times when the last records read by departed members were appended. Pure.

A commit proves that its member had read the records before the committed offset, and a record cannot be read before it
is appended. So if a topic gets records all the time, the last commit shows the time until which the member worked;
commit times alone show this only until the commit before (`CommitTimes`).

A record's timestamp is from the clock of its producer or of its broker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rebalance_agent.model.generation_diff import Partition

__all__ = ["CLOCKS_MS", "QUESTIONS_MAX", "ReadQuestion", "ReadTime", "ReadTimes"]

CLOCKS_MS = 250
"""How far (ms) a producer's clock may be ahead of a coordinator's. Only partitions whose newest records are not further
in the future are used."""

QUESTIONS_MAX = 2_000
"""Maximum number of queries that wait for an answer; each departed member has one or a few. Beyond it, the oldest
queries are dropped, since their results are optional."""


class ReadQuestion(NamedTuple):
    """Asks when the last record before ``offset`` was appended to a partition, between ``after_ms`` and ``until_ms``.

    ``offset`` was committed at ``until_ms``, and the partition's owner is known to have worked until ``after_ms``
    (epoch ms).
    """

    partition: Partition
    offset: int
    after_ms: int
    until_ms: int


@dataclass(slots=True)
class ReadTime:
    """The time until which a member certainly worked (epoch ms), from records that it read; None if unknown."""

    worked_ms: int | None = None

    def see(self, appended_ms: int) -> None:
        """Process the time when a record that the member read was appended."""
        self.worked_ms = max(appended_ms - CLOCKS_MS, self.worked_ms or 0)


class ReadTimes:
    """The open queries, and the values that their answers update. Another thread may empty ``unasked`` (`popleft`)."""

    def __init__(self) -> None:
        """Start without questions."""
        self.unasked = deque[ReadQuestion](maxlen=QUESTIONS_MAX)
        self._open: dict[ReadQuestion, list[ReadTime]] = {}

    def ask(self, question: ReadQuestion, into: ReadTime) -> None:
        """Add a query; ``into`` is the member's time that stores the answer."""
        if question in self._open:
            self._open[question].append(into)
            return
        if len(self._open) >= QUESTIONS_MAX:
            del self._open[next(iter(self._open))]
        self._open[question] = [into]
        self.unasked.append(question)

    def answer(self, appended_ms: Mapping[ReadQuestion, int | None]) -> None:
        """Process the earliest times (epoch ms) when the records were appended; None if unknown."""
        for question, at_ms in appended_ms.items():
            for time in self._open.pop(question, ()):
                if at_ms is not None:
                    time.see(at_ms)
