"""Groups, members and times in words: what `watch` and `explain` share. Pure, and safe to print on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from rebalance_agent.model.episode import Basis, Stall
from rebalance_agent.model.events import MemberSnapshot, Workload
from rebalance_agent.model.group import HasIds
from rebalance_agent.model.partitions import TopicPartitions, to_ranges

__all__ = [
    "UNKNOWN",
    "NamedMember",
    "PartitionMove",
    "ago",
    "duration",
    "identity",
    "listed",
    "member_names",
    "moment",
    "moves",
    "partitions_text",
    "plural",
    "printable",
    "stall_text",
]

UNKNOWN = "-"

ID_TAIL = 6
"""Characters of a member id that tell members of one name apart: ids end with a random UUID."""


class NamedMember(HasIds, Protocol):
    """What `GroupMember` of the API and `MemberSnapshot` of an event have in common."""

    @property
    def where(self) -> Workload | None:
        """Where it runs."""
        ...


@dataclass(frozen=True, slots=True)
class PartitionMove:
    """Partitions of one topic that went from one member to another; None: from nobody, or to nobody."""

    topic: str
    partitions: tuple[int, ...]
    giver: str | None
    taker: str | None


def printable(text: str) -> str:
    """``text`` on one line, with everything a terminal might act upon written as an escape."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "surrogatepass").decode("ascii") for each in text
    )


def plural(number: int, noun: str) -> str:
    """``1 member``, ``2 members``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str], most: int = 8) -> str:
    """``a, b and c``; of very many only the first."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} and {len(names) - most + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))


def duration(seconds: float) -> str:
    """``210 ms``, ``6.2 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:  # noqa: PLR2004 - seconds of a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:  # noqa: PLR2004 - minutes of an hour
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def ago(now_ms: int, then_ms: int) -> str:
    """``3 min 5 s ago``; what lies ahead of this machine's clock is now."""
    seconds = max(0, now_ms - then_ms) / 1000
    return f"{duration(round(seconds)) if seconds >= 1 else '0 s'} ago".replace(".0 s", " s")


def moment(at_ms: int) -> str:
    """``2026-11-21 14:02:11.352 UTC``."""
    try:
        return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}.{at_ms % 1000:03} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{at_ms} ms"


def stall_text(stall: Stall | None) -> str:
    """``6.2 s``, of a bound both ends where they differ: ``4 ms - 6.2 s``."""
    if stall is None:
        return UNKNOWN
    least, most = duration(stall.lower_seconds), duration(stall.seconds)
    return most if stall.basis is Basis.EXACT or least == most else f"{least} - {most}"


def partitions_text(partitions: TopicPartitions) -> str:
    """``orders 0-4,7; payments 1``."""
    return "; ".join(f"{printable(topic)} {to_ranges(numbers)}" for topic, numbers in sorted(partitions.items()))


def identity(member: NamedMember) -> str:
    """What stays the same when a static member restarts."""
    return member.member_id if member.instance_id is None else member.instance_id


def member_names(members: Iterable[NamedMember]) -> Mapping[str, str]:
    """Identity -> what people call the member: its pod, else its instance id, else its client id.

    Where several would have one name, the end of the member id tells them apart.
    """
    everyone = {identity(each): each for each in members}
    names = {name: _name(each) for name, each in everyone.items()}
    times = Counter(names.values())
    return {
        name: printable(text if times[text] == 1 else f"{text} ({everyone[name].member_id[-ID_TAIL:]})")
        for name, text in names.items()
    }


def moves(before: Iterable[MemberSnapshot], after: Iterable[MemberSnapshot]) -> tuple[PartitionMove, ...]:
    """Partitions by from whom to whom they went, members by their identity; what stayed is left out."""
    had, has = _owners(before), _owners(after)
    ways: dict[tuple[str, str | None, str | None], set[int]] = {}
    for partition in had.keys() | has.keys():
        giver, taker = had.get(partition), has.get(partition)
        if giver != taker:
            ways.setdefault((partition[0], giver, taker), set()).add(partition[1])
    ordered = sorted(ways.items(), key=lambda way: (way[0][0], min(way[1])))
    return tuple(
        PartitionMove(topic, tuple(sorted(numbers)), giver, taker) for (topic, giver, taker), numbers in ordered
    )


def _owners(members: Iterable[MemberSnapshot]) -> dict[tuple[str, int], str]:
    return {
        (topic, number): identity(each)
        for each in members
        for topic, numbers in each.assigned.items()
        for number in numbers
    }


def _name(member: NamedMember) -> str:
    pod = member.where.pod if member.where else None
    return pod or member.instance_id or member.client_id or member.member_id
