"""Rates each group's problems (level, weight, reasons); the page sorts its list of groups by this. Pure.

The thresholds are those of the alerts (``alerts/values.yaml``), so that list and alerts agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from rebalance_agent.api.shapes import GroupSummary, Rebalance, RebalanceKind
from rebalance_agent.model.episode import Stall
from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.patterns.group_stalls import Limit
from rebalance_agent.tracking.views import RunningRebalance
from rebalance_agent.ui.sentences.empty_text import Urgency, empty_text, urgency
from rebalance_agent.ui.sentences.former_owner import former_owner_text
from rebalance_agent.ui.sentences.group_detail import HOUR_MS
from rebalance_agent.ui.sentences.group_stall import long_stall_text, stall_limit
from rebalance_agent.ui.sentences.host_spread_text import one_host_text
from rebalance_agent.ui.sentences.storms import STORM_SECONDS, is_return, is_storm
from rebalance_agent.ui.sentences.unsettled import pending_text
from rebalance_agent.ui.svg.pieces import trigger_name
from rebalance_agent.ui.words import (
    TIMES,
    in_words,
    listed,
    plural,
    printable,
    rounded_duration,
    shortened,
    stall_text,
    stalled_partitions_text,
)

__all__ = [
    "LONG_SECONDS_MIN",
    "NAMED_MAX",
    "ONE_HOST_RATIO_MAX",
    "OVERDUE_SECONDS_MIN",
    "SKEW_MEMBERS_MAX",
    "SKEW_RATIO_MAX",
    "STALLED_SECONDS_MIN",
    "STUCK_SECONDS_MIN",
    "TIMEOUT_SECONDS",
    "Level",
    "RecentRebalances",
    "Trouble",
    "lasting",
    "recent_rebalances",
    "trouble",
]

LONG_SECONDS_MIN = 60.0
"""Seconds after which a running rebalance counts as a problem; the rebalances of a rolling restart take a few
seconds."""

OVERDUE_SECONDS_MIN = 30.0
"""Seconds after the members' rebalance timeout at which a running rebalance, which does not end, becomes critical."""

TIMEOUT_SECONDS = 300.0
"""Rebalance timeout (seconds) assumed if unknown: the default of Kafka's clients."""

ONE_HOST_RATIO_MAX = 0.5
"""Share of topics with all their partitions on one host above which a group gets a warning."""

SKEW_RATIO_MAX = 1.5
"""Highest load / target of a member above which a group of more than `SKEW_MEMBERS_MAX` members gets a warning."""

SKEW_MEMBERS_MAX = 1
"""Groups of up to this many members get no such warning: a single member has no other member to share with."""

STALLED_SECONDS_MIN = 5.0
"""Shortest stall (seconds) in the last hour that counts as noticeable."""

STUCK_SECONDS_MIN = 900.0
"""Seconds for which a partition's committed offset may stay unchanged although records are appended: members that
commit rarely still commit every few minutes."""

NAMED_MAX = 3
"""Maximum number of flapping members listed by name."""


class Level(IntEnum):
    """The severity of a group's problems."""

    OK = 0
    WARNING = 1
    CRITICAL = 2

    @property
    def css(self) -> str:
        """The CSS class of remarks with this severity."""
        return self.name.lower()


class Trouble(NamedTuple):
    """A group's state: the worst level, a weight that orders groups of the same level, and reasons, worst first."""

    level: Level = Level.OK
    weight: float = 0.0
    why: tuple[str, ...] = ()


class RecentRebalances(NamedTuple):
    """A group's recent rebalances.

    ``hour``: their number in the last hour; ``storm``: their number in the last `STORM_SECONDS`. As in the metrics,
    neither includes departures of the last member. ``failed``: how often members with partitions failed in the last
    `STORM_SECONDS`. ``stalled``: the rebalance of the last hour with the longest stall, if that reached
    `STALLED_SECONDS_MIN`.
    """

    hour: int = 0
    storm: int = 0
    failed: int = 0
    stalled: Rebalance | None = None


def recent_rebalances(rebalances: Iterable[Rebalance], now_ms: int) -> RecentRebalances:
    """Summarize a group's ``rebalances``; ``now_ms``: epoch milliseconds."""
    completed = [rebalance for rebalance in rebalances if rebalance.kind is RebalanceKind.COMPLETED]
    hour = [rebalance for rebalance in completed if rebalance.timestamp_ms >= now_ms - HOUR_MS]
    storm = [rebalance for rebalance in hour if rebalance.timestamp_ms >= now_ms - STORM_SECONDS * 1000]
    # Only the lower bound is certain.
    stalls = [
        (rebalance.stall.lower_seconds, rebalance)
        for rebalance in hour
        if rebalance.stall and rebalance.stall.lower_seconds >= STALLED_SECONDS_MIN
    ]
    stalled = max(stalls, key=lambda pair: pair[0])[1] if stalls else None
    return RecentRebalances(
        sum(rebalance.members > 0 for rebalance in hour),
        sum(rebalance.members > 0 and not is_return(rebalance.trigger) for rebalance in storm),
        sum(bool(rebalance.lost_min) for rebalance in storm),
        stalled,
    )


def trouble(group: GroupSummary, recent: RecentRebalances, now_ms: int) -> Trouble:
    """Return the state of a group with its ``recent`` rebalances; ``now_ms``: epoch milliseconds."""
    reasons = sorted(_reasons(group, recent, now_ms), key=lambda reason: (-reason.level, -reason.weight))
    if not reasons:
        return Trouble()
    return Trouble(reasons[0].level, reasons[0].weight, tuple(text for reason in reasons for text in reason.why))


def _reasons(group: GroupSummary, recent: RecentRebalances, now_ms: int) -> Iterator[Trouble]:
    yield from _unread(group, now_ms)
    if is_storm(group, recent.storm):
        yield Trouble(
            Level.WARNING,
            500 + recent.storm,
            (f"storm: {recent.storm} rebalances in {rounded_duration(STORM_SECONDS)}",),
        )
    if recent.stalled and recent.stalled.stall:
        yield Trouble(
            Level.WARNING, 300 + recent.stalled.stall.lower_seconds, (_stall(recent.stalled, recent.stalled.stall),)
        )
    if recent.failed:
        # Not the sum of their partitions: members that fail repeatedly lose more partitions than the group has.
        yield Trouble(Level.WARNING, 200, (f"members failed in {plural(recent.failed, 'rebalance')}",))
    former = group.former_owner
    if former and former.until_ms >= now_ms - STORM_SECONDS * 1000:
        yield Trouble(Level.WARNING, 260, (f"two owners: {former_owner_text(former)}",))
    if group.skew_ratio is not None and group.skew_ratio > SKEW_RATIO_MAX and group.members > SKEW_MEMBERS_MAX:
        times = f"{group.skew_ratio:.1f}{TIMES}"
        yield Trouble(Level.WARNING, 100 + group.skew_ratio, (f"the most loaded member has {times} its share",))
    yield from lasting(group)
    if group.idle_members:
        number = group.idle_members
        yield Trouble(Level.OK, 2, (f"{plural(number, 'member')} {'has' if number == 1 else 'have'} no partitions",))


def lasting(group: GroupSummary, names_max: int = NAMED_MAX) -> Iterator[Trouble]:
    """Yield reasons that the group's own page also shows, with up to ``names_max`` members by name."""
    if group.host_spread and group.host_spread.clustered_ratio > ONE_HOST_RATIO_MAX:
        yield Trouble(Level.WARNING, 100 + group.host_spread.clustered_ratio, (one_host_text(group.host_spread),))
    if group.flapping:
        names = listed([shortened(printable(name), 60) for name in group.flapping], names_max)
        yield Trouble(Level.WARNING, 250, (f"members keep leaving and rejoining: {names}",))


def _unread(group: GroupSummary, now_ms: int) -> Iterator[Trouble]:
    """Yield reasons why records are currently not consumed: a rebalance, no members, or partitions without an owner."""
    if group.running:
        yield _running(group, group.running, now_ms)
    elif empty := urgency(group, now_ms):
        level = Level.CRITICAL if empty is Urgency.NOW else Level.WARNING
        yield Trouble(level, 10_000, (empty_text(group, now_ms),))
    elif group.unassigned and group.members:
        yield Trouble(Level.CRITICAL, 900, (f"{plural(group.unassigned, 'partition')} without an owner",))
    elif group.state is GroupState.EMPTY:
        yield Trouble(Level.OK, 1, (empty_text(group, now_ms),))
    if group.lag and (stuck := group.lag.stuck) and stuck.seconds > STUCK_SECONDS_MIN:
        where = f"{shortened(printable(stuck.topic), 60)}-{stuck.partition}"
        text = f"{where} makes no progress: records are appended, but its committed offset does not change"
        yield Trouble(Level.CRITICAL, 950, (text,))


def _running(group: GroupSummary, running: RunningRebalance, now_ms: int) -> Trouble:
    """Return the running rebalance's trouble: critical if the whole group is stalled for long, or it does not end."""
    # Without the number of seconds, which would change the page with every refresh.
    seconds = max(0, now_ms - running.started_ms) / 1000
    overdue = seconds > (group.rebalance_timeout_seconds or TIMEOUT_SECONDS) + OVERDUE_SECONDS_MIN
    how_long = ""
    if overdue:
        how_long = " for longer than the members' rebalance timeout"
    elif seconds > LONG_SECONDS_MIN:
        how_long = f" for more than {rounded_duration(LONG_SECONDS_MIN)}"
    stall = stall_limit(group, now_ms)
    waits = pending_text(group) if how_long else ""
    texts = (f"rebalancing{how_long}", long_stall_text(group, now_ms), stalled_partitions_text(running), waits)
    return Trouble(
        Level.CRITICAL if overdue or stall is Limit.CRITICAL else Level.WARNING,
        (2_000 if stall else 1_000) + seconds,
        (", ".join(filter(None, texts)),),
    )


def _stall(rebalance: Rebalance, stall: Stall) -> str:
    slowest = rebalance.slowest
    # The slowest member is named only if the others waited for it most of the time.
    named = slowest and (slowest.lower_seconds or slowest.seconds or 0) >= stall.lower_seconds / 2
    waited = f", waiting for {shortened(printable(slowest.client_id), 60)}" if slowest and named else ""
    why = f": {trigger_name(rebalance.trigger)}" if rebalance.trigger else ""
    return f"stalled for {in_words(stall_text(stall))}{why}{waited}"
