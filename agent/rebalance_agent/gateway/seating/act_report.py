"""Reports the gateway's acts on seats: counts and logs them, and publishes some of them as events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import structlog

from rebalance_agent.clock import Clock
from rebalance_agent.gateway.seating.acts.act_events import ActEvents
from rebalance_agent.model.reported.seat_event import Act, ActOutcome

__all__ = ["ActCounts", "ActReport", "NoCounts"]

TEXT_MAX = 200
"""Maximum number of characters of a text in a log line: clients choose names of any length."""

_WRONG = {
    Act.HANDOVER: "the group rebalanced after each of the last handovers",
    Act.ADMIT: "each of the last joint admissions caused several rebalances",
}

LINES_SECONDS = 10.0
LINES_MAX = 100
"""Maximum number of log lines for one kind of act in `LINES_SECONDS`: deploying a hundred consumers at once needs that
many."""


class ActCounts(Protocol):
    """Counts acts. Its methods never raise."""

    def act(self, act: Act, outcome: ActOutcome, number: int = 1) -> None:
        """Count an act."""
        ...

    def spared(self, rebalances: int, *, predicted: bool) -> None:
        """Count avoided rebalances (a lower bound); ``predicted``: rebalances that seats would have avoided."""
        ...

    def kept(self, partition_seconds: float, *, predicted: bool) -> None:
        """Count the partition-seconds for which kept seats were vacant: an upper bound on the cost."""
        ...

    def stall_spared(self, partition_seconds: float) -> None:
        """Count the partition-seconds of stall avoided after consumers were killed (a lower bound)."""
        ...

    def waited(self, seconds: float, *, predicted: bool) -> None:
        """Count the seconds for which a newcomer waited, or if ``predicted`` would have waited, to join with others."""
        ...

    def seats(self, held: int, vacant: int, *, off: bool, wrong: int) -> None:
        """Set the numbers of held JoinGroups and of vacant seats, and whether seats are switched off.

        ``wrong``: the number of groups that no longer get seats because their acts were wrong too often.
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

    def stall_spared(self, partition_seconds: float) -> None:
        """See `ActCounts`."""

    def waited(self, seconds: float, *, predicted: bool) -> None:
        """See `ActCounts`."""

    def seats(self, held: int, vacant: int, *, off: bool, wrong: int) -> None:
        """See `ActCounts`."""


@dataclass(slots=True)
class _Lines:
    """The number of log lines for one kind of act since the time ``since``."""

    since: float
    logged: int = 0
    left_out: int = 0


class ActReport:
    """Logs, counts and publishes the acts of all groups.

    Clients can cause any number of acts, so not all are logged.
    """

    def __init__(self, counts: ActCounts, clock: Clock, events: ActEvents) -> None:
        """Count acts with ``counts``, and publish them with ``events``."""
        self.counts, self._events, self._clock = counts, events, clock
        self._lines = {act: _Lines(float("-inf")) for act in Act}
        self._log = structlog.get_logger("rebalance_agent.gateway.seats")
        self._failed: set[str] = set()

    def report(self, act: Act, outcome: ActOutcome, group: str, **facts: object) -> None:
        """Count and publish an act; log it with ``facts``, unless its kind has `LINES_MAX` lines in `LINES_SECONDS`."""
        self.counts.act(act, outcome)
        self._events.report(act, outcome, group, facts)
        lines, now = self._lines[act], self._clock.monotonic()
        if now - lines.since >= LINES_SECONDS:
            if lines.left_out:
                facts["left_out_before"] = lines.left_out
            self._lines[act] = lines = _Lines(now)
        if lines.logged >= LINES_MAX:
            lines.left_out += 1
            return
        lines.logged += 1
        shown = {name: fact[:TEXT_MAX] if isinstance(fact, str) else fact for name, fact in facts.items()}
        self._log.info(f"seats_{act}", outcome=str(outcome), group=group[:TEXT_MAX], **shown)

    def stall_spared(self, act: Act, group: str, member_id: str, partition_seconds: float) -> None:
        """Count the partition-seconds of stall that an act on the seat of ``member_id`` avoided."""
        self.counts.stall_spared(partition_seconds)
        self._events.spared(act, group, member_id, partition_seconds)

    def heard(self, group: str, member_id: str) -> None:
        """Record that a client sends requests as this member, even if a successor has its seat."""
        self._events.heard(group, member_id)

    def refused(self, group: str, problem: str) -> None:
        """Log that the cluster refuses a group's locks: only consumers behind this gateway can take its seats."""
        self.counts.act(Act.CLAIM, ActOutcome.FAILED)
        text = (
            "seats.between.gateways has no effect: consumers can only take seats of consumers behind the same gateway"
        )
        self._log.error("seats_claim", outcome="failed", group=group[:TEXT_MAX], problem=problem, help=text)

    def wrong(self, group: str, act: Act) -> None:
        """Log that a group gets no more seats because its acts of one kind were wrong too often."""
        text = f"{_WRONG[act]}; until this gateway restarts, it only observes the group, whose members keep their seats"
        self._log.error("seats_acts_wrong", group=group[:TEXT_MAX], act=str(act), help=text)

    def switched(self, reason: str) -> None:
        """Log that the seats of all groups were switched off for ``reason`` or, if ``reason`` is empty, on again."""
        if reason:
            text = (
                "members keep their seats; no newcomer is held, and no seat is kept or handed over, until the file "
                "is removed or contains on"
            )
            self._log.warning("seats_switched_off", reason=reason, help=text)
        else:
            self._log.info("seats_switched_on")

    def failed(self, act: Act, group: str, error: Exception) -> None:
        """Count an error of the gateway, and log the first error of each kind."""
        self.counts.act(act, ActOutcome.FAILED)
        kind = f"{act} {type(error).__name__}"
        if kind not in self._failed:
            self._failed.add(kind)
            text = "the client's own frames are forwarded; further errors of this kind are only counted"
            self._log.error(f"seats_{act}", outcome="failed", group=group[:TEXT_MAX], help=text, exc_info=error)
