"""Keeps queries for when the last records that departed members read were appended: they worked until then. Pure.

A commit proves that its member had read the records before the committed offset, and a record cannot be read before it
is appended. So if a topic gets records all the time, the last commit shows until when the member worked; commit times
alone show this only up to the commit before (`CommitTimes`).

A record's timestamp is by the clock of its producer or of its broker.
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
"""Maximum queries that wait for an answer, one or a few for each departed member. Beyond it the oldest are dropped,
since their results are optional."""


class ReadQuestion(NamedTuple):
    """Queries when the last record before ``offset`` of a partition was appended, from ``after_ms`` to ``until_ms``.

    ``offset`` was committed at ``until_ms``, and its owner is known to have worked until ``after_ms`` (epoch ms).
    """

    partition: Partition
    offset: int
    after_ms: int
    until_ms: int


@dataclass(slots=True)
class ReadTime:
    """Until when a member certainly worked, by the records that it read (epoch ms); None until an answer shows it."""

    worked_ms: int | None = None

    def see(self, appended_ms: int) -> None:
        """Process the time when a record that it read was appended."""
        self.worked_ms = max(appended_ms - CLOCKS_MS, self.worked_ms or 0)


class ReadTimes:
    """The open queries, and where their answers go. Another thread may empty ``unasked`` (`popleft`)."""

    def __init__(self) -> None:
        """Start without questions."""
        self.unasked = deque[ReadQuestion](maxlen=QUESTIONS_MAX)
        self._open: dict[ReadQuestion, list[ReadTime]] = {}

    def ask(self, question: ReadQuestion, into: ReadTime) -> None:
        """Add a query whose answer is stored ``into`` a member's time."""
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
