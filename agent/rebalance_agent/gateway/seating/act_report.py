"""What the gateway did about seats: a log line and a metric for each act."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import structlog

from rebalance_agent.clock import Clock

__all__ = ["Act", "ActCounts", "ActOutcome", "ActReport", "NoCounts"]

LINES_SECONDS = 10.0
LINES_MAX = 100
"""Lines of one kind of act in `LINES_SECONDS`: a deploy of a hundred consumers at a time has as many."""


class Act(StrEnum):
    """What was done, or would have been done. A closed set, for a counter's label."""

    HOLD = "hold"
    """A newcomer's JoinGroup was held for a predecessor."""
    SEAT = "seat"
    """A newcomer joined with a seat of its own."""
    ADMIT = "admit"
    """A newcomer joined with a seat of its own at a multiple of the admission period, where others join, too."""
    HANDOVER = "handover"
    """A newcomer took the seat of its predecessor."""
    CLAIM = "claim"
    """The lock of a seat that a gateway offers was asked for, for a newcomer."""
    KEEP = "keep"
    """A LeaveGroup was answered by the gateway, and the member's seat kept."""
    GIVE_UP = "give_up"
    """A seat without a consumer was given up."""
    RESTORE = "restore"
    """A member went on with the seat that it had before the gateway restarted; failed: the list of seats was not read
    or not written."""
    PASS_JOIN = "pass_join"  # noqa: S105 - no password
    """A JoinGroup without a member id was forwarded as it is."""
    PASS_LEAVE = "pass_leave"  # noqa: S105
    """A LeaveGroup was forwarded as it is."""


class ActOutcome(StrEnum):
    """How it ended. A closed set, for a counter's label."""

    DONE = "done"
    FAILED = "failed"
    """An error of the gateway, or no answer; the client's own frame was forwarded."""
    REFUSED = "refused"
    """The coordinator refused it; a newcomer's own JoinGroup was forwarded."""
    PREDICTED = "predicted"
    """Mode ``observe``: every frame was forwarded as it is."""
    RIGHT = "right"
    """An act that was done promised something, and that came true: see docs/seats.md."""
    WRONG = "wrong"
    """It did not."""
    UNKNOWN = "unknown"
    """Whether it did cannot be known."""


class ActCounts(Protocol):
    """Counts acts. Never raises."""

    def act(self, act: Act, outcome: ActOutcome, number: int = 1) -> None:
        """Count an act."""
        ...

    def spared(self, rebalances: int, *, predicted: bool) -> None:
        """Count rebalances that did not happen, or would not have; a lower bound."""
        ...

    def kept(self, partition_seconds: float, *, predicted: bool) -> None:
        """Count the time for which partitions of kept seats stood still: an upper bound of the cost."""
        ...

    def seats(self, held: int, vacant: int, *, off: bool, wrong: int) -> None:
        """Set the numbers of held JoinGroups and of vacant seats, and whether seats are switched off.

        ``wrong``: groups whose handovers were wrong too often, so that they have no seats any more.
        """
        ...


class NoCounts:
    """Counts nothing."""

    def act(self, act: Act, outcome: ActOutcome, number: int = 1) -> None:
        """See `ActCounts`."""

    def spared(self, rebalances: int, *, predicted: bool) -> None:
        """See `ActCounts`."""

    def kept(self, partition_seconds: float, *, predicted: bool) -> None:
        """See `ActCounts`."""

    def seats(self, held: int, vacant: int, *, off: bool, wrong: int) -> None:
        """See `ActCounts`."""


@dataclass(slots=True)
class _Lines:
    """The lines of one kind of act since a time."""

    since: float
    logged: int = 0
    left_out: int = 0


class ActReport:
    """Logs and counts the acts of all groups. Clients cause them at will, so not all are logged."""

    def __init__(self, counts: ActCounts, clock: Clock) -> None:
        """Count with ``counts``."""
        self.counts, self._clock = counts, clock
        self._lines = {act: _Lines(float("-inf")) for act in Act}
        self._log = structlog.get_logger("rebalance_agent.gateway.seats")
        self._failed: set[str] = set()

    def report(self, act: Act, outcome: ActOutcome, group: str, **facts: object) -> None:
        """Count an act, and log it with ``facts``, but at most `LINES_MAX` of its kind in `LINES_SECONDS`."""
        self.counts.act(act, outcome)
        lines, now = self._lines[act], self._clock.monotonic()
        if now - lines.since >= LINES_SECONDS:
            if lines.left_out:
                facts["left_out_before"] = lines.left_out
            self._lines[act] = lines = _Lines(now)
        if lines.logged >= LINES_MAX:
            lines.left_out += 1
            return
        lines.logged += 1
        self._log.info(f"seats_{act}", outcome=str(outcome), group=group[:200], **facts)

    def refused(self, group: str, problem: str) -> None:
        """The cluster refuses the locks of a group: its seats are handed over behind this gateway alone."""
        self.counts.act(Act.CLAIM, ActOutcome.FAILED)
        text = "seats.between.gateways has no effect: consumers take seats of consumers behind the same gateway only"
        self._log.error("seats_claim", outcome="failed", group=group[:200], problem=problem, help=text)

    def wrong(self, group: str) -> None:
        """The handovers of a group were wrong too often: it has no seats any more."""
        text = (
            "the group rebalanced after each of the last handovers; until this gateway restarts its seats are only "
            "observed, and its members keep those they have"
        )
        self._log.error("seats_acts_wrong", group=group[:200], help=text)

    def switched(self, reason: str) -> None:
        """The seats of all groups are off, for this ``reason``; empty: they are not any more."""
        if reason:
            text = "members keep their seats; nothing is held, kept or handed over until the file is gone or says on"
            self._log.warning("seats_switched_off", reason=reason, help=text)
        else:
            self._log.info("seats_switched_on")

    def failed(self, act: Act, group: str, error: Exception) -> None:
        """An error of the gateway: counted each time, and logged once for each kind."""
        self.counts.act(act, ActOutcome.FAILED)
        kind = f"{act} {type(error).__name__}"
        if kind not in self._failed:
            self._failed.add(kind)
            text = "the client's own frames are forwarded; further errors of this kind are only counted"
            self._log.error(f"seats_{act}", outcome="failed", group=group[:200], help=text, exc_info=error)
