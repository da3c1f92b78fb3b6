"""Predicts for how long partitions stall in one rebalance, from a model of the group coordinator.

``testing.simulation`` simulates whole groups. For a recorded rebalance all inputs are known, so the result is a sum;
tests compare it with the simulation. The model:

- eager: every member stops when it detects the rebalance, and all partitions wait until the last member has joined and
  the assignment has arrived;
- cooperative: no member stops. Revoked partitions stall from the end of the first round to the end of the follow-up,
  which waits for the slowest member again. Partitions of departed members are assigned in the first round.

In a recorded eager rebalance, members without a report of when they stopped count as stopped as late as the lower bound
of the recorded stall allows: records do not show that an earlier stop cost anything, so no change would certainly have
saved it. In a recorded cooperative rebalance, members that an eager strategy would have stopped count as stopped from
the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rebalance_agent.advice.replay.move_counts import MoveCounts, count_moves
from rebalance_agent.advice.replay.recorded_history import RecordedRebalance, owned_by
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.member_changes import identity

__all__ = ["Behaviour", "behaviour_of", "predict_stall"]

SESSION_MS = 45_000
"""Kafka's default of ``session.timeout.ms``, for members whose session timeout is not recorded."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The behaviour of the members in one rebalance, by identity. All times are in seconds.

    ``join``: the wait for the last member under the recorded protocol; ``sync``: the wait for the leader's assignment.
    ``stops``: the time from the start until a member had detected the rebalance and stopped; ``pauses``: the duration
    of the member's revoked callback. ``follow``: the recorded follow-up rounds, None if there were none. ``expired``:
    the session timeouts of members that failed. ``fresh``: the group had been empty. ``silent_stop``: as ``stops``, for
    members of an eager group that did not report.
    """

    join: float
    sync: float
    stops: Mapping[str, float] = field(default_factory=dict)
    pauses: Mapping[str, float] = field(default_factory=dict)
    follow: float | None = None
    expired: Mapping[str, float] = field(default_factory=dict)
    fresh: bool = False
    silent_stop: float = 0.0


def behaviour_of(rebalance: RecordedRebalance) -> Behaviour | None:
    """Return the behaviour in a recorded rebalance; None if its start or its stall is not known."""
    first, closing = rebalance.generations[0], rebalance.closing
    if rebalance.before is None or first.join_seconds is None or closing.stall is None:
        return None
    stops: dict[str, float] = {}
    pauses: dict[str, float] = {}
    if closing.protocol is not RebalanceProtocol.COOPERATIVE:
        stops = {identity(member): member.stop_seconds for member in closing.members if member.stop_seconds is not None}
        slowest = next(
            (identity(member) for member in closing.members if member.member_id == closing.slowest_member_id), ""
        )
        if slowest in stops:
            pauses = {slowest: max(0.0, first.join_seconds - stops[slowest])}
    follow = None
    if len(rebalance.generations) > 1:
        follow = max(0, closing.timestamp_ms - first.timestamp_ms) / 1000
    behaviour = Behaviour(
        join=first.join_seconds,
        sync=first.sync_seconds or 0.0,
        stops=stops,
        pauses=pauses,
        follow=follow,
        expired=_expired(rebalance),
        fresh=rebalance.fresh,
    )
    if closing.protocol is RebalanceProtocol.COOPERATIVE or rebalance.fresh:
        return behaviour
    given = count_moves(owned_by(rebalance.before), owned_by(closing))
    return replace(behaviour, silent_stop=_latest_stop(behaviour, given, closing.stall.partition_seconds))


def _latest_stop(behaviour: Behaviour, given: MoveCounts, least: float) -> float:
    """Return the latest stop of the members without a report with which the model predicts at least ``least``.

    ``least``: the lower bound of the recorded stalls, in partition-seconds.
    """
    silent = sum(count for name, count in given.owned.items() if name not in behaviour.stops)
    if not silent:
        return 0.0
    worst = predict_stall(behaviour, given, RebalanceProtocol.EAGER) or 0.0
    return min(max(0.0, worst - least) / silent, behaviour.join)


def predict_stall(behaviour: Behaviour | None, given: MoveCounts | None, protocol: RebalanceProtocol) -> float | None:
    """Return the stalled partition-seconds of a rebalance in which ``given`` moved under ``protocol``.

    Return None if the members' behaviour or the moves are not known.
    """
    if behaviour is None or given is None:
        return None
    if protocol is RebalanceProtocol.COOPERATIVE:
        return _cooperative(behaviour, given)
    end = behaviour.join + behaviour.sync
    if behaviour.fresh:
        return given.assigned * end
    silent = behaviour.silent_stop
    stood = sum(
        count * max(0.0, end - behaviour.stops.get(name, silent)) for name, count in given.owned.items() if count
    )
    return stood + _of_gone(behaviour, given, end)


def _cooperative(behaviour: Behaviour, given: MoveCounts) -> float:
    join = _joined(behaviour, given)
    end = join + behaviour.sync
    if behaviour.fresh:
        return given.assigned * end
    moved = sum(given.moved.values())
    if not moved:
        return _of_gone(behaviour, given, end)
    follow = behaviour.follow
    if follow is None:
        others = (behaviour.stops.get(name, join) for name in given.owned if name not in given.moved)
        pauses = (behaviour.pauses.get(name, 0.0) for name in given.moved)
        follow = max((*others, *pauses), default=0.0) + behaviour.sync
    return moved * follow + _of_gone(behaviour, given, end)


def _joined(behaviour: Behaviour, given: MoveCounts) -> float:
    """Return the time until the last member joins if no member has to revoke anything first.

    A member that owned nothing does not report when it stopped: it joins as soon as it detects the rebalance. If it
    does report, it counts like all other members.
    """
    if not all(name in behaviour.stops for name, count in given.owned.items() if count):
        return behaviour.join
    return max((behaviour.stops[name] for name in given.owned if name in behaviour.stops), default=behaviour.join)


def _of_gone(behaviour: Behaviour, given: MoveCounts, end: float) -> float:
    return sum(count * (end + behaviour.expired.get(name, 0.0)) for name, count in given.gone.items())


def _expired(rebalance: RecordedRebalance) -> dict[str, float]:
    """Return the session timeouts of failed members: the coordinator removed them this long after they failed.

    Members that left are not included, since they may have worked until then.
    """
    closing, before = rebalance.closing, rebalance.before
    if before is None or Trigger.MEMBER_FAILED not in closing.causes:
        return {}
    staying = {identity(member) for member in closing.members}
    return {
        identity(member): (member.session_timeout_ms or SESSION_MS) / 1000
        for member in before.members
        if identity(member) not in staying
    }
