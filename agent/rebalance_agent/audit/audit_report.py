"""The result of an audit: differences by group and generation, and the numbers of checked and unchecked facts."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_agent.audit.audited_group import RecordPosition

__all__ = ["NO_EVENTS", "UNREADABLE", "AuditReport", "Difference", "Differences"]

NO_EVENTS = "records of the events' topic that are not events"
UNREADABLE = "records that cannot be read"
"""Reasons why facts are not checked; such facts need not belong to a group."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. ``number``: the generation or epoch; ``positions``: the positions of the record and the event."""

    group: str
    number: int
    what: str
    positions: tuple[RecordPosition, ...] = ()

    def __str__(self) -> str:
        """Format the difference as one line."""
        where = f" ({', '.join(map(str, self.positions))})" if self.positions else ""
        return f"{self.group!r} {self.number}: {self.what}{where}"


DIFFERENCES_MAX = 10_000
"""Maximum number of differences kept; further ones are only counted, since a wrong topic can lead to millions."""


@dataclass(slots=True)
class Differences:
    """Counts differences (``found``), and keeps the first ``kept_max`` in ``differences``."""

    kept_max: int = DIFFERENCES_MAX
    found: int = 0
    differences: list[Difference] = field(default_factory=list)

    def differ(self, *some: Difference, found: int | None = None) -> None:
        """Add differences; ``found``: their total number, if some were dropped before."""
        self.found += len(some) if found is None else found
        self.differences += some[: self.kept_max - len(self.differences)]


@dataclass(slots=True)
class AuditReport(Differences):
    """The numbers of facts that were and were not checked, and the differences.

    ``agreed``: facts whose event agrees. ``copies``: copies of events, from another observer or after a restart.
    ``unjudged``: reason -> number of facts that are not checked. ``pending``: facts so new that their events may still
    come. ``counters``: groups whose counters were compared. ``hours``: rows of ``group_hours`` that agree.
    """

    agreed: int = 0
    copies: int = 0
    pending: int = 0
    groups: set[str] = field(default_factory=set)
    unjudged: dict[str, int] = field(default_factory=dict)
    counters: int = 0
    hours: int = 0

    def leave(self, why: str, number: int = 1) -> None:
        """Add ``number`` facts that cannot be checked for the reason ``why``."""
        if number:
            self.unjudged[why] = self.unjudged.get(why, 0) + number

    @property
    def clean(self) -> bool:
        """Whether everything that could be checked agrees."""
        return not self.found

    @property
    def empty(self) -> bool:
        """Whether there was no fact of any group, neither in records nor in events."""
        return not (self.agreed or self.found or self.pending or self.unjudged.keys() - {NO_EVENTS, UNREADABLE})

    def summary(self) -> str:
        """Format the report as one line."""
        parts = [f"{self.agreed} facts of {len(self.groups)} groups were published correctly and exactly once"]
        if self.copies:
            parts.append(f"{self.copies} copies of events")
        if self.counters:
            parts.append(f"the counters of {self.counters} groups match the sums of their events")
        if self.hours:
            parts.append(f"{self.hours} hours match the sums of their generations")
        if self.pending:
            parts.append(f"{self.pending} {'is' if self.pending == 1 else 'are'} too new to have been published")
        parts += [f"not checked: {number} {why}" for why, number in sorted(self.unjudged.items())]
        verdict = "no difference" if self.clean else f"{self.found} difference{'s' * (self.found != 1)}"
        return f"{verdict}; " + "; ".join(parts)
