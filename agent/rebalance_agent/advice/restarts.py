"""Finds members that returned within their session timeout: static membership (KIP-345) avoids such rebalances.

A member that returns has a new member id. It counts as the same member if it has the client id of a member that left
and no other member has this client id. So no restarts are found in groups whose members share one client id. The cost
of static membership is also counted: partitions of an absent member wait for this member instead of going to others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rebalance_agent.advice.replay.move_counts import Assignment
from rebalance_agent.advice.replay.predicted_stalls import SESSION_MS
from rebalance_agent.advice.replay.recorded_history import RecordedHistory, RecordedRebalance
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.events import MemberSnapshot
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.member_changes import identity, member_changes
from rebalance_agent.model.partitions import count_partitions

__all__ = ["AvoidableRebalances", "Restart", "avoidable"]

_RESTART_CAUSES = frozenset(
    {
        Trigger.MEMBER_FAILED,
        Trigger.MEMBER_LEFT,
        Trigger.MEMBER_GONE,
        Trigger.MEMBER_JOINED,
        Trigger.MEMBER_REPLACED,
        Trigger.REJOIN,
    }
)


@dataclass(frozen=True, slots=True)
class Restart:
    """A member, by its previous ``identity``, that left in rebalance ``left`` and returned in rebalance ``back``.

    Both are indexes of the history's rebalances.
    """

    identity: str
    client_id: str
    left: int
    back: int
    away_seconds: float


@dataclass(frozen=True)
class AvoidableRebalances:
    """``rebalances``: indexes of the rebalances that only restarts caused; ``restarts``: all restarts."""

    rebalances: frozenset[int]
    restarts: tuple[Restart, ...]

    @cached_property
    def leaving(self) -> Mapping[int, Sequence[Restart]]:
        """Restarts by the index of the rebalance in which the member left."""
        by_rebalance: dict[int, list[Restart]] = {}
        for restart in self.restarts:
            by_rebalance.setdefault(restart.left, []).append(restart)
        return by_rebalance

    def waited(self, index: int, before: Assignment) -> float:
        """Return for how long the members' partitions (``before``) would have waited for them, in partition-seconds."""
        return sum(
            count_partitions(before.get(restart.identity, {})) * restart.away_seconds
            for restart in self.leaving.get(index, ())
        )


def avoidable(history: RecordedHistory) -> AvoidableRebalances:
    """Return the restarts of dynamic members that were shorter than their session timeout.

    Return none for streams groups, and for share groups, which have no static members.
    """
    if history.group_type not in {GroupType.CLASSIC, GroupType.CONSUMER}:
        return AvoidableRebalances(frozenset(), ())
    changes = [_Change(rebalance) for rebalance in history.rebalances]
    restarts = tuple(_restarts(changes))
    went: dict[int, set[str]] = {}
    came: dict[int, set[str]] = {}
    for restart in restarts:
        went.setdefault(restart.left, set()).add(restart.client_id)
        came.setdefault(restart.back, set()).add(restart.client_id)
    only = (
        index
        for index, change in enumerate(changes)
        if change.is_nothing_but(went.get(index, set()), came.get(index, set()))
    )
    return AvoidableRebalances(frozenset(only), restarts)


class _Change:
    """The members that joined and the members that left in one rebalance, by client id."""

    def __init__(self, rebalance: RecordedRebalance) -> None:
        self.rebalance = rebalance
        before = rebalance.before.members if rebalance.before else ()
        now = rebalance.closing.members
        changes = member_changes(before, now)
        self.gone = changes.gone
        self.joined = changes.joined if before else ()
        self.clients = Counter(member.client_id for member in now)
        self.clients_before = Counter(member.client_id for member in before)

    @property
    def started_ms(self) -> int:
        first = self.rebalance.generations[0]
        return first.timestamp_ms if first.phases.started_ms is None else first.phases.started_ms

    @property
    def ended_ms(self) -> int:
        return self.rebalance.closing.timestamp_ms

    def is_nothing_but(self, went: set[str], came: set[str]) -> bool:
        if not (went or came) or self.rebalance.returned:
            return False
        causes = set(self.rebalance.closing.causes)
        return (
            causes <= _RESTART_CAUSES
            and {member.client_id for member in self.gone} <= went
            and {member.client_id for member in self.joined} <= came
        )


def _restarts(changes: Sequence[_Change]) -> Iterator[Restart]:
    waiting: dict[str, tuple[int, MemberSnapshot]] = {}
    for index, change in enumerate(changes):
        for gone in change.gone:
            if gone.instance_id is None and gone.client_id and change.clients_before[gone.client_id] == 1:
                waiting[gone.client_id] = (index, gone)
        for joined in change.joined:
            departure = waiting.pop(joined.client_id, None)
            if departure is None or joined.instance_id is not None or change.clients[joined.client_id] != 1:
                continue
            left, gone = departure
            until_ms = change.ended_ms if left == index else change.started_ms
            away_ms = max(0, until_ms - changes[left].started_ms)
            if away_ms <= (gone.session_timeout_ms or SESSION_MS):
                yield Restart(identity(gone), joined.client_id, left, index, away_ms / 1000)
