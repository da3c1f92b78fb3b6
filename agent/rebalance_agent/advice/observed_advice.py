"""Advice that a group's last rebalances prove by themselves, without a replay; `explain` and the agent's page word it.

`recommendation` compares whole histories with what other strategies would have done. This module looks at a few
rebalances as they were and reports at most one finding, the first of: a callback that caused most of a stall, a restart
that static membership would have hidden, an eager protocol that stopped what could have gone on, needless moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebalance_agent.advice.observed_rebalance import ObservedRebalance
from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.assignors.strategy import COOPERATIVE_PREFIX
from rebalance_agent.model.episode import Basis
from rebalance_agent.model.events import Callback, MemberSnapshot
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.model.member_changes import identity
from rebalance_agent.model.partitions import pairs

__all__ = [
    "EagerStop",
    "ExcessMoves",
    "ObservedAdvice",
    "ShortRestart",
    "SlowCallback",
    "observed_advice",
]

SLOW_CALLBACK_SECONDS_MIN = 1.0
"""A shorter callback does not delay the other members noticeably."""

SLOW_CALLBACK_SHARE_MIN = 0.5
"""Share of the stall that a callback must have taken to be called its reason."""


@dataclass(frozen=True, slots=True)
class SlowCallback:
    """A callback that took most of an exactly known stall."""

    member: str
    callback: Callback
    callback_seconds: float
    stall_seconds: float


@dataclass(frozen=True, slots=True)
class ShortRestart:
    """A dynamic member that left and came back within its session timeout (KIP-345 avoids rebalances for that).

    ``away_seconds``: from the end of one rebalance to the end of the other; 0 if both were one.
    """

    member: str
    away_seconds: float
    session_seconds: float


@dataclass(frozen=True, slots=True)
class EagerStop:
    """An eager rebalance in which ``kept`` of ``owned`` partitions stopped and stayed with their owner.

    ``cooperative``: name of an assignor that would not have stopped them.
    """

    kept: int
    owned: int
    cooperative: str


@dataclass(frozen=True, slots=True)
class ExcessMoves:
    """Partitions that moved beyond the fewest moves that the same balance needed."""

    partitions: int


ObservedAdvice = SlowCallback | ShortRestart | EagerStop | ExcessMoves
"""One finding; `ui.sentences.advice` has a sentence for each type."""


def observed_advice(rebalances: Sequence[ObservedRebalance]) -> ObservedAdvice | None:
    """The first finding that ``rebalances`` (oldest first) prove, in the order of the module's description, or None."""
    return _slow_callback(rebalances) or _short_restart(rebalances) or _eager_stop(rebalances) or _excess(rebalances)


def _slow_callback(rebalances: Sequence[ObservedRebalance]) -> SlowCallback | None:
    slow = (callback for rebalance in rebalances for callback in _slow_callbacks(rebalance))
    return max(slow, key=lambda each: (each.callback_seconds, each.callback, each.member), default=None)


def _slow_callbacks(rebalance: ObservedRebalance) -> Iterator[SlowCallback]:
    stall = rebalance.closing.stall
    if stall is None or stall.basis is not Basis.EXACT:
        return
    for report in rebalance.reports:
        member = rebalance.by_id.get(report.member_id)
        if report.callback is Callback.LEFT or member is None:
            continue
        seconds = (report.timestamp_ms - report.started_ms) / 1000
        if seconds >= max(SLOW_CALLBACK_SECONDS_MIN, SLOW_CALLBACK_SHARE_MIN * stall.lower_seconds):
            yield SlowCallback(rebalance.name(member), report.callback, seconds, stall.lower_seconds)


def _short_restart(rebalances: Sequence[ObservedRebalance]) -> ShortRestart | None:
    for index, rebalance in enumerate(rebalances):
        if rebalance.closing.group_type not in (GroupType.CLASSIC, GroupType.CONSUMER):
            continue
        for member in rebalance.gone:
            back = None if member.instance_id is not None else _return_of(member, rebalances[index:])
            if back is not None:
                away_ms = max(0, back.closing.timestamp_ms - rebalance.closing.timestamp_ms)
                return ShortRestart(rebalance.name(member), away_ms / 1000, (member.session_timeout_ms or 0) / 1000)
    return None


def _return_of(gone: MemberSnapshot, later: Sequence[ObservedRebalance]) -> ObservedRebalance | None:
    """The rebalance in which the only member with that client id joined, if the session of ``gone`` lasted until then.

    A client id that several members have identifies none of them.
    """
    session_ms = gone.session_timeout_ms or 0
    for rebalance in later:
        if rebalance.closing.timestamp_ms - later[0].closing.timestamp_ms > session_ms:
            return None
        same = [each for each in rebalance.closing.members if each.client_id == gone.client_id]
        earlier = rebalance.before.members if rebalance.before else ()
        unique = len(same) == 1 and sum(each.client_id == gone.client_id for each in earlier) <= 1
        if unique and same[0].member_id in {each.member_id for each in rebalance.joined}:
            return rebalance
    return None


def _eager_stop(rebalances: Sequence[ObservedRebalance]) -> EagerStop | None:
    stops = (stop for rebalance in rebalances if (stop := _stopped(rebalance)).kept)
    return max(stops, key=lambda each: (each.kept, each.cooperative), default=None)


def _stopped(rebalance: ObservedRebalance) -> EagerStop:
    closing, before = rebalance.closing, rebalance.before
    if before is None or closing.protocol is not RebalanceProtocol.EAGER:
        return EagerStop(0, 0, "")
    has = {identity(each): pairs(each.assigned) for each in closing.members}
    owned = {partition for member in before.members for partition in pairs(member.assigned)}
    kept = sum(len(pairs(each.assigned) & has.get(identity(each), set())) for each in before.members)
    return EagerStop(kept, len(owned), _cooperative_form(closing.assignor))


def _cooperative_form(assignor: str | None) -> str:
    """The cooperative assignor of the same strategy if there is one, else Kafka's own."""
    name = f"{COOPERATIVE_PREFIX}{assignor}"
    return name if name in STRATEGIES else "cooperative-sticky"


def _excess(rebalances: Sequence[ObservedRebalance]) -> ExcessMoves | None:
    closing = [each.closing for each in rebalances]
    excess = sum(max(0, each.moved - each.needed) for each in closing if each.needed is not None)
    return ExcessMoves(excess) if excess else None
