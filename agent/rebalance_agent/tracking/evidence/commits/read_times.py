"""Keeps what to ask about the last records that departed members read: they worked until these were appended. Pure.

A commit proves that its member had read the records before the committed offset, and none of them was read before it
was appended. So where a topic gets records all the time, the last commit shows until when the member worked: commits
alone show it only until the one before (`CommitTimes`).

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
"""By how much (ms) a producer's clock may be ahead of a coordinator's. Answers come only from partitions whose newest
records are not from the future by more."""

QUESTIONS_MAX = 2_000
"""Questions that wait for an answer, one or a few for each departed member. Beyond it the oldest are dropped: what they
would have shown is optional."""


class ReadQuestion(NamedTuple):
    """Asks when the last record before ``offset`` of a partition was appended, from ``after_ms`` to ``until_ms``.

    ``offset`` was committed at ``until_ms``, and its owner is known to have worked until ``after_ms`` (epoch ms).
    """

    partition: Partition
    offset: int
    after_ms: int
    until_ms: int


@dataclass(slots=True)
class ReadTime:
    """Until when a member certainly worked, by the records that it read (epoch ms); None while no answer shows it."""

    worked_ms: int | None = None

    def see(self, appended_ms: int) -> None:
        """Take the time when a record that it read was appended."""
        self.worked_ms = max(appended_ms - CLOCKS_MS, self.worked_ms or 0)


class ReadTimes:
    """The open questions, and where their answers go. ``unasked`` may be emptied by another thread (`popleft`)."""

    def __init__(self) -> None:
        """Start without questions."""
        self.unasked = deque[ReadQuestion](maxlen=QUESTIONS_MAX)
        self._open: dict[ReadQuestion, list[ReadTime]] = {}

    def ask(self, question: ReadQuestion, into: ReadTime) -> None:
        """Ask, and let the answer come ``into`` a member's time."""
        if question in self._open:
            self._open[question].append(into)
            return
        if len(self._open) >= QUESTIONS_MAX:
            del self._open[next(iter(self._open))]
        self._open[question] = [into]
        self.unasked.append(question)

    def answer(self, appended_ms: Mapping[ReadQuestion, int | None]) -> None:
        """Take when the records were appended (epoch ms), at the earliest; None: that is not known."""
        for question, at_ms in appended_ms.items():
            for time in self._open.pop(question, ()):
                if at_ms is not None:
                    time.see(at_ms)
