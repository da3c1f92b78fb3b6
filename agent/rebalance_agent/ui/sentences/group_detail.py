"""Describes one group from an agent's answers: a headline, and rows of members, rebalances and moves. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.api.shapes import GroupDetail, GroupMember, Rebalance, RebalanceDetail, RebalanceKind
from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.model.member_changes import identity
from rebalance_agent.model.partitions import claimed_partitions, to_ranges
from rebalance_agent.ui.sentences.catch_up_text import lag_text
from rebalance_agent.ui.sentences.dead_letter_text import dead_letter_text
from rebalance_agent.ui.sentences.empty_text import copartition_text, empty_text
from rebalance_agent.ui.sentences.group_stall import group_stall_text
from rebalance_agent.ui.sentences.host_spread_text import one_host_text
from rebalance_agent.ui.sentences.named_members import member_names, moves, partitions_text
from rebalance_agent.ui.sentences.unsettled import pending_text
from rebalance_agent.ui.task_words import STREAMS_HEADINGS, member_cells
from rebalance_agent.ui.words import (
    UNKNOWN,
    ago,
    duration,
    in_words,
    partition_seconds,
    partition_seconds_text,
    plural,
    printable,
    shortened,
    span,
    stall_text,
    stalled_partitions_text,
    time_of_day,
)

__all__ = [
    "HOUR_MS",
    "MOVE_HEADINGS",
    "REBALANCE_HEADINGS",
    "SLOW_SECONDS_MIN",
    "GroupCloseUp",
    "awaited_text",
    "closing_event",
    "headline",
    "member_table",
    "move_rows",
    "moves_title",
    "names_by_id",
    "rebalance_rows",
]

REBALANCE_HEADINGS = ("when", "gen", "trigger", "stall", "stalled p·s", "moved", "slowest", "members")
HOUR_MS = 3_600_000
"""Length (ms) of the recent past that the list of groups and a group's page evaluate."""

SLOW_SECONDS_MIN = 0.1
"""Shortest wait (seconds) for which the slowest member is mentioned."""

MOVE_HEADINGS = ("topic", "partitions", "from", "to")

_WORKLOAD_COLUMNS = ("node", "workload", "image")
"""Attributes of `Workload` that get a column if a member has them; the pod is already the member's name."""


@dataclass(frozen=True, slots=True)
class GroupCloseUp:
    """A group with its last rebalances, newest first, and the events of the last two completed ones."""

    detail: GroupDetail
    rebalances: tuple[Rebalance, ...]
    last: RebalanceDetail | None
    before: RebalanceDetail | None


def closing_event(detail: RebalanceDetail | None) -> GenerationEvent | None:
    """Return the event of the rebalance's last generation; None if there is no such event."""
    return _last_generation(detail.events if detail else ())


def headline(close_up: GroupCloseUp) -> str:
    """Return two lines: the group's kind and current state, and its totals."""
    summary, counters = close_up.detail.summary, close_up.detail.counters
    parts = (summary.group_type, summary.assignor and printable(summary.assignor), summary.protocol)
    kind = ", ".join(str(part) for part in parts if part)
    running = summary.running
    stall, waits = group_stall_text(summary, close_up.detail.now_ms), pending_text(summary)
    state = (
        f"{summary.state} for {duration(max(0, close_up.detail.now_ms - running.started_ms) / 1000)}, "
        f"{', '.join(filter(None, (stalled_partitions_text(running), stall, waits)))}"
        if running
        else (empty_text(summary, close_up.detail.now_ms) if summary.empty else str(summary.state))
    )
    facts = [
        f"{kind}: {state}",
        f"generation {UNKNOWN if summary.generation is None else summary.generation}",
        plural(summary.members, "member"),
        f"{UNKNOWN if summary.partitions is None else summary.partitions} partitions"
        + (f" ({summary.unassigned} without an owner)" if summary.unassigned else ""),
    ]
    if summary.skew_ratio is not None:
        facts.append(f"skew {summary.skew_ratio:.2f}")
    if text := copartition_text(summary):
        facts.append(text)
    if summary.host_spread and summary.host_spread.clustered_ratio:
        facts.append(one_host_text(summary.host_spread))
    if not summary.empty and (text := lag_text(summary)):  # `empty_text` includes the lag
        facts.append(text)
    if text := dead_letter_text(close_up.detail.dead_letter_queue):
        facts.append(text)
    totals = [
        f"since the agent started: {plural(summary.rebalances, 'rebalance')}, {summary.aborted} aborted",
        f"{counters.moved} partitions moved, {counters.moved_excess} excess moves",
        f"at least {partition_seconds(counters.stalled_partition_seconds)} stalled partition-seconds",
    ]
    return f"{', '.join(facts)}\n{', '.join(totals)}"


def awaited_text(close_up: GroupCloseUp) -> str:
    """Return the member that the last hour's rebalances waited for longest, and how long; empty without waits.

    The last rebalance alone would not show this member: a member that was removed because it is slow rejoins at once.
    """
    since_ms = close_up.detail.now_ms - HOUR_MS
    waits = [
        (slowest.lower_seconds or 0.0, slowest.seconds, slowest)
        for rebalance in close_up.rebalances
        if rebalance.timestamp_ms >= since_ms
        and (slowest := rebalance.slowest)
        and slowest.seconds is not None
        and slowest.seconds >= SLOW_SECONDS_MIN
    ]
    if not waits:
        return ""
    lower, upper, slowest = max(waits, key=lambda wait: wait[:2])
    client = shortened(printable(slowest.client_id), 60)
    return f"In the last hour, the longest wait of a rebalance was for {client}: {in_words(span(lower, upper))}."


def rebalance_rows(close_up: GroupCloseUp) -> list[tuple[str, ...]]:
    """Return the rows under `REBALANCE_HEADINGS`, newest first."""
    names = names_by_id(close_up)
    return [_rebalance_row(rebalance, close_up.detail.now_ms, names) for rebalance in close_up.rebalances]


def member_table(close_up: GroupCloseUp) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and rows of the members, the most loaded first; a leader that assigned is marked."""
    members = close_up.detail.members
    names = member_names(members)
    ordered = sorted(members, key=lambda member: (-(member.partitions or 0), names[identity(member)]))
    columns = [column for column in _WORKLOAD_COLUMNS if any(_workload(member, column) for member in members)]
    seats = any(member.occupant for member in members)
    libraries = any(member.software for member in members)
    streams = any(member.streams for member in members)
    rows = [
        (
            names[identity(member)] + (" (leader)" if member.member_id == close_up.detail.leader_member_id else ""),
            *(printable(_workload(member, column) or UNKNOWN) for column in columns),
            printable(member.client_id),
            printable(member.host),
            *([_occupant_text(member)] if seats else []),
            *([printable(str(member.software or UNKNOWN))] if libraries else []),
            UNKNOWN if member.partitions is None else str(member.partitions),
            UNKNOWN if member.target is None else f"{member.target:.1f}".removesuffix(".0"),
            partitions_text(member.assigned or {}) or UNKNOWN,
            *(member_cells(member.streams) if streams else ()),
        )
        for member in ordered
    ]
    reported = [*(["seat taken by"] if seats else []), *(["client library"] if libraries else [])]
    tasks = STREAMS_HEADINGS if streams else ()
    return ("member", *columns, "client id", "host", *reported, "partitions", "target", "owns", *tasks), rows


def move_rows(close_up: GroupCloseUp) -> list[tuple[str, ...]]:
    """Return the last rebalance's moves under `MOVE_HEADINGS`; empty if none, or if the state before is unknown."""
    last, before = closing_event(close_up.last), _event_before(close_up)
    if last is None or before is None:
        return []
    names = {**member_names(before.members), **member_names(last.members)}
    return [
        (
            printable(move.topic),
            to_ranges(move.partitions),
            names.get(move.giver, move.giver) if move.giver else "no owner",
            names.get(move.taker, move.taker) if move.taker else "no owner",
        )
        for move in moves(before.members, last.members)
    ]


def moves_title(close_up: GroupCloseUp, rows: Sequence[tuple[str, ...]]) -> str:
    """Return the title of the table of moves, or why there is no table. ``rows``: those of `move_rows`."""
    last = closing_event(close_up.last)
    if last is None:
        return "moves: no rebalance has settled since the agent started"
    if _event_before(close_up) is None:
        return f"moves to generation {last.generation}: unknown, because the previous generation was not observed"
    number = sum(claimed_partitions(ranges) for _, ranges, *_ in rows)
    return f"moves from generation {last.previous_generation} to {last.generation}: {plural(number, 'partition')}"


def _occupant_text(member: GroupMember) -> str:
    """Return ``orders-7, 10.0.0.9, 12:03:07 UTC`` for the consumer in the seat; a dash if no seat was handed over."""
    occupant = member.occupant
    if occupant is None:
        return UNKNOWN
    names = (printable(name) for name in (occupant.client_id, occupant.host.removeprefix("/")) if name)
    return ", ".join((*names, f"{time_of_day(occupant.since_ms)} UTC"))


def _workload(member: GroupMember, attribute: str) -> str | None:
    return getattr(member.where, attribute) if member.where else None


def _event_before(close_up: GroupCloseUp) -> GenerationEvent | None:
    """Return the event of the generation from which the last rebalance began; None if it was not observed."""
    before = _earlier_event(close_up)
    first = close_up.last.rebalance.previous_generation if close_up.last else None
    return before if before and before.generation == first else None


def _earlier_event(close_up: GroupCloseUp) -> GenerationEvent | None:
    """Return the event of the rebalance before the last, else that of a generation from before the agent's start."""
    return closing_event(close_up.before) or _last_generation(close_up.last.before if close_up.last else ())


def _last_generation(events: Sequence[Event]) -> GenerationEvent | None:
    return next((event for event in reversed(events) if isinstance(event, GenerationEvent)), None)


def names_by_id(close_up: GroupCloseUp) -> dict[str, str]:
    """Return member id -> name, for the current members and the members of the last two rebalances."""
    names: dict[str, str] = {}
    for event in (_earlier_event(close_up), closing_event(close_up.last)):
        if event:
            by_identity = member_names(event.members)
            names |= {member.member_id: by_identity[identity(member)] for member in event.members}
    by_identity = member_names(close_up.detail.members)
    return names | {member.member_id: by_identity[identity(member)] for member in close_up.detail.members}


def _moved(rebalance: Rebalance) -> str:
    if rebalance.moved is None:
        return UNKNOWN
    return str(rebalance.moved) + (
        f" (needed {rebalance.needed})" if rebalance.needed is not None and rebalance.moved > rebalance.needed else ""
    )


def _rebalance_row(rebalance: Rebalance, now_ms: int, names: Mapping[str, str]) -> tuple[str, ...]:
    if rebalance.kind is RebalanceKind.ABORTED:
        return (ago(now_ms, rebalance.timestamp_ms), str(rebalance.generation), "aborted", *[UNKNOWN] * 5)
    slowest = rebalance.slowest
    numbers = [step.generation for step in rebalance.generations]
    return (
        ago(now_ms, rebalance.timestamp_ms),
        str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}",
        str(rebalance.trigger),
        stall_text(rebalance.stall),
        partition_seconds_text(rebalance.stall),
        _moved(rebalance),
        UNKNOWN
        if slowest is None or (slowest.seconds is not None and slowest.seconds < SLOW_SECONDS_MIN)
        else names.get(slowest.member_id or "", printable(slowest.client_id))
        + (f" {span(slowest.lower_seconds, slowest.seconds)}" if slowest.seconds is not None else ""),
        str(rebalance.members),
    )
