"""What a ledger found: differences by group and generation, and how much was and was not judged."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_agent.audit.audited_group import RecordPosition

__all__ = ["NO_EVENTS", "UNREADABLE", "AuditReport", "Difference", "Differences"]

NO_EVENTS = "records of the events' topic that are no events"
UNREADABLE = "records that cannot be read"
"""Why something is not judged that need not be about any group."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that does not agree. ``number``: the generation or epoch; ``places``: where to look both up."""

    group: str
    number: int
    what: str
    places: tuple[RecordPosition, ...] = ()

    def __str__(self) -> str:
        """One line."""
        where = f" ({', '.join(map(str, self.places))})" if self.places else ""
        return f"{self.group!r} {self.number}: {self.what}{where}"


DIFFERENCES_MAX = 10_000
"""So many are kept, beyond them they are only counted: nobody reads more, and a wrong topic has millions."""


@dataclass(slots=True)
class Differences:
    """Those that were ``found``, of which the first ``most`` are ``kept``."""

    most: int = DIFFERENCES_MAX
    found: int = 0
    kept: list[Difference] = field(default_factory=list)

    def add(self, *some: Difference, found: int | None = None) -> None:
        """Add them; ``found``: how many they stand for."""
        self.found += len(some) if found is None else found
        self.kept += some[: self.most - len(self.kept)]


@dataclass(slots=True)
class AuditReport:
    """What was judged and what was not.

    ``agreed``: facts that were told, and told right. ``copies``: events that came again, from another observer or after
    a restart. ``unjudged``: why nothing can be said -> of how many facts. ``pending``: so new that their events may
    still come. ``counters``: groups of which some process's counters were compared. ``hours``: rows of ``group_hours``
    that are right.
    """

    agreed: int = 0
    copies: int = 0
    pending: int = 0
    groups: set[str] = field(default_factory=set)
    unjudged: dict[str, int] = field(default_factory=dict)
    counters: int = 0
    hours: int = 0
    wrong: Differences = field(default_factory=Differences)

    @property
    def found(self) -> int:
        """How many differences there are."""
        return self.wrong.found

    @property
    def differences(self) -> list[Difference]:
        """The first of them."""
        return self.wrong.kept

    def differ(self, difference: Difference) -> None:
        """Note a difference."""
        self.wrong.add(difference)

    def leave(self, why: str, number: int = 1) -> None:
        """Note that so many facts cannot be judged."""
        if number:
            self.unjudged[why] = self.unjudged.get(why, 0) + number

    @property
    def clean(self) -> bool:
        """Whether everything that could be judged agrees."""
        return not self.found

    @property
    def empty(self) -> bool:
        """Whether there was nothing, neither to judge nor to leave: no fact of any group in records or events."""
        return not (self.agreed or self.found or self.pending or self.unjudged.keys() - {NO_EVENTS, UNREADABLE})

    def summary(self) -> str:
        """One line."""
        parts = [f"{self.agreed} facts of {len(self.groups)} groups are told right and once"]
        if self.copies:
            parts.append(f"{self.copies} events came again")
        if self.counters:
            parts.append(f"counters of {self.counters} groups are the sums of their events")
        if self.hours:
            parts.append(f"{self.hours} hours are the sums of their generations")
        if self.pending:
            parts.append(f"{self.pending} are too new to be told")
        parts += [f"not judged: {number} {why}" for why, number in sorted(self.unjudged.items())]
        verdict = "no difference" if self.clean else f"{self.found} difference{'s' * (self.found != 1)}"
        return f"{verdict}; " + "; ".join(parts)
