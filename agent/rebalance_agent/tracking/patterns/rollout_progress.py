"""Tracks whether a group is in a rollout without failures: only then are alerts on many rebalances silenced."""

from __future__ import annotations

from typing import NamedTuple

from rebalance_agent.tracking.patterns.unpaired_members import SettledRebalance

__all__ = ["FAILING_MS", "MISSING_MS", "REMEMBERED_MS", "RolloutProgress"]

REMEMBERED_MS = 15 * 60_000
"""How long (ms) after the last replacement a rollout counts: the window of ``KafkaGroupRebalanceStorm``, in which this
alert still counts the rebalances of the deploy."""

FAILING_MS = 5 * 60_000
"""How long (ms) after a failure the group counts as failing."""

MISSING_MS = 2 * 60_000
"""Time (ms) after which a departed member without a successor is missing: most pods start and join within it."""


class _Failure(NamedTuple):
    """``at_ms`` is by the coordinator's clock, ``until_ms`` by the observer's."""

    at_ms: int
    until_ms: int


_NEVER = _Failure(0, 0)


class RolloutProgress:
    """The progress of a group's last rollout. Deadlines are by the observer's clock.

    ``going_well``: members were replaced within `REMEMBERED_MS`, and nothing failed: within `FAILING_MS` no generation
    was aborted, and no successor departed that was not replaced by a later version; and no departed member has been
    missing for longer than `MISSING_MS`.
    """

    __slots__ = (
        "_aborted",
        "_failed",
        "_first",
        "_judged_ms",
        "_missing_from_ms",
        "_until_ms",
        "going_well",
    )

    def __init__(self) -> None:
        """Start without a rollout."""
        self.going_well = False
        self._first: SettledRebalance | None = None
        self._until_ms = 0
        self._aborted = self._failed = _NEVER
        self._missing_from_ms: int | None = None
        self._judged_ms = 0

    @property
    def due_ms(self) -> int | None:
        """The next deadline of `pass_time`; None if nothing will change."""
        if self._first is None:
            return None
        deadlines = (self._until_ms, self._aborted.until_ms, self._failed.until_ms, self._missing_from_ms)
        return min((due_ms for due_ms in deadlines if due_ms is not None and due_ms > self._judged_ms), default=None)

    def advance(self, first: SettledRebalance, now_ms: int) -> None:
        """Process a replacement in the rollout that began with ``first``."""
        self._first, self._until_ms = first, now_ms + REMEMBERED_MS
        self.pass_time(now_ms)

    def abort(self, at_ms: int, now_ms: int) -> None:
        """Process a generation that had been aborted by ``at_ms`` (coordinator's clock).

        It counts if that was after the rollout's start.
        """
        self._aborted = _Failure(at_ms, now_ms + FAILING_MS)
        self.pass_time(now_ms)

    def fail(self, at_ms: int, now_ms: int) -> None:
        """Process a successor's departure at ``at_ms`` (coordinator's clock); it counts under the same condition."""
        self._failed = _Failure(at_ms, now_ms + FAILING_MS)
        self.pass_time(now_ms)

    def recover(self, now_ms: int) -> None:
        """Note that a later version has replaced all departed successors, so these successors did not fail."""
        self._failed = _NEVER
        self.pass_time(now_ms)

    def count_members(self, members: int, departed_ms: int | None, at_ms: int, now_ms: int) -> None:
        """Process the number of members at ``at_ms``, and when the first member without a successor departed.

        Both times are by the coordinator's clock. A departed member is not missing if the group has at least as many
        members as when the rollout began.
        """
        fewer = self._first is not None and members < self._first.members
        self._missing_from_ms = now_ms + max(0, departed_ms + MISSING_MS - at_ms) if fewer and departed_ms else None
        self.pass_time(now_ms)

    def pass_time(self, now_ms: int) -> None:
        """Update ``going_well`` as of ``now_ms``."""
        self._judged_ms = now_ms
        first = self._first
        if first is None or now_ms >= self._until_ms:
            self.clear()
            return
        missing = self._missing_from_ms is not None and now_ms >= self._missing_from_ms
        failing = any(
            failure.at_ms >= first.started_ms and now_ms < failure.until_ms for failure in (self._aborted, self._failed)
        )
        self.going_well = not missing and not failing

    def set_back(self, by_ms: int) -> None:
        """Shift the deadlines of failures: the observer's clock was set back by ``by_ms``."""
        self._aborted, self._failed = (
            _Failure(failure.at_ms, failure.until_ms - by_ms) for failure in (self._aborted, self._failed)
        )

    def clear(self) -> None:
        """Drop the rollout."""
        self._first, self._missing_from_ms, self.going_well = None, None, False
