"""A recorded history through another strategy: each rebalance decides from what the one before it had decided.

Both forms of a strategy decide alike, so that one pass serves the eager and the cooperative one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import is_

from rebalance_agent.advice.eligible_strategies import ReplaySettings, family, library_strategy
from rebalance_agent.advice.move_counts import Assignment, MoveCounts, count_moves
from rebalance_agent.advice.recorded_history import RecordedHistory, RecordedRebalance
from rebalance_agent.assignors import Plan, Roster, Strategy
from rebalance_agent.assignors.assignment_facts import count_moved, owners_of
from rebalance_agent.assignors.balance.promise import by_count
from rebalance_agent.assignors.measure_quality import balance_of
from rebalance_agent.assignors.roster import MemberUserData, prepare_roster_again
from rebalance_agent.errors import DecodeError
from rebalance_agent.model.partitions import TopicPartitions, count_partitions

__all__ = ["ReplayedRebalance", "replay_rebalances"]

USER_DATA_MAX = 10_000
"""Members' user data that are kept as read; some of it changes with every generation, most does not."""

_NOTHING: TopicPartitions = {}


@dataclass(frozen=True, slots=True)
class ReplayedRebalance:
    """What a strategy made of one rebalance.

    ``assignment`` by identity. ``given``: what changed hands since its own previous assignment, None where it has
    nothing to begin from, as in the first one of all. ``needed``: the fewest changes of owner that the balance wanted;
    None where nobody can tell. ``skew_ratio`` and ``imbalance``: of the group's own strategy measured against what
    that promises, of all others against the best balance of counts.
    """

    rebalance: RecordedRebalance
    assignment: Assignment
    given: MoveCounts | None
    moved: int
    needed: int | None
    skew_ratio: float
    imbalance: int


def replay_rebalances(
    history: RecordedHistory, strategy: Strategy, settings: ReplaySettings | None = None
) -> Iterator[ReplayedRebalance]:
    """Replay the rebalances in which somebody decided.

    After an empty group everybody starts anew; and so does the strategy where nobody saw what a rebalance began from.

    Raises:
        AssignmentError: a setting is not what the strategy takes.
    """
    replay = _Replay(strategy, settings or ReplaySettings(), library_strategy(history.assignor))
    for rebalance in history.rebalances:
        if not rebalance.closing.members:
            replay.forget()
        elif not rebalance.returned:
            if rebalance.before is None:
                replay.begin()
            yield replay.decide(rebalance)


class _Replay:
    """One strategy on its way through one history."""

    def __init__(self, strategy: Strategy, settings: ReplaySettings, recorded: Strategy | None) -> None:
        self._strategy = strategy
        self._config = settings.config
        own = recorded is not None and family(recorded.name) == family(strategy.name)
        self._reader = recorded.reader if recorded and own and not strategy.only_owned else None
        # One measure for all that stand in for another: what nobody asked for is no excuse for skew.
        self._promise = strategy.promise if own else by_count
        self._read: dict[bytes, MemberUserData | None] = {}
        self._had: Assignment | None = None
        self._copies: Mapping[str, TopicPartitions] = {}

    def begin(self) -> None:
        """What was before is not known."""
        self._had, self._copies = None, {}

    def forget(self) -> None:
        """Nobody is there."""
        self._had, self._copies = {}, {}

    def decide(self, rebalance: RecordedRebalance) -> ReplayedRebalance:
        """The next rebalance."""
        before = self._had
        claims = [(before or {}).get(name, _NOTHING) for name in rebalance.identities]
        roster = self._roster(rebalance, claims)
        plan = self._strategy.plan(roster)
        after = dict(zip(rebalance.identities, plan, strict=True))
        given = None if before is None else count_moves(before, after)
        loads = list(map(count_partitions, plan))
        left = _count_left(roster, claims, plan, given)
        balance_found = balance_of(
            roster, self._promise(roster), loads, left, plain=sum(loads) <= sum(roster.partitions)
        )
        self._had = after
        self._keep_copies(rebalance, roster, plan)
        moved = given.changed if given else 0
        return ReplayedRebalance(
            rebalance=rebalance,
            assignment=after,
            given=given,
            moved=moved,
            # What its owner could have kept and did not, beyond the fewest of that, was for nothing.
            needed=None if balance_found.moved_min is None else moved - (left - balance_found.moved_min),
            skew_ratio=balance_found.skew_ratio,
            imbalance=balance_found.imbalance,
        )

    def _roster(self, rebalance: RecordedRebalance, claims: Sequence[TopicPartitions]) -> Roster:
        by_count(rebalance.roster)  # all strategies are measured by it: it is worked out once
        return prepare_roster_again(
            rebalance.roster,
            claims,
            self._recorded_user_data(rebalance),
            self._strategy.config,
            self._config,
            [self._copies.get(name, _NOTHING) for name in rebalance.identities] if self._copies else None,
        )

    def _recorded_user_data(self, rebalance: RecordedRebalance) -> Sequence[MemberUserData | None]:
        """The settings that members told, without what they owned then."""
        members = rebalance.roster.members
        if self._reader is None:
            return (None,) * len(members)
        recorded = {member.member_id: member.user_data for member in rebalance.closing.members}
        return [self._read_one(recorded[member.member_id]) for member in members]

    def _read_one(self, recorded: bytes | None) -> MemberUserData | None:
        if not recorded or self._reader is None:
            return None
        if recorded not in self._read:
            if len(self._read) >= USER_DATA_MAX:
                self._read.clear()
            try:
                self._read[recorded] = self._reader(recorded)
            except DecodeError:
                self._read[recorded] = None
        return self._read[recorded]

    def _keep_copies(self, rebalance: RecordedRebalance, roster: Roster, plan: Plan) -> None:
        if self._strategy.standbys is not None:
            self._copies = dict(zip(rebalance.identities, self._strategy.standbys(roster, plan), strict=True))


def _count_left(roster: Roster, claims: Sequence[TopicPartitions], plan: Plan, given: MoveCounts | None) -> int:
    """How much of what members own does not stay with its owner."""
    if given and all(map(is_, claims, roster.ownership_index.holdings)):
        return sum(given.moved.values())
    # Some of what was theirs is no longer: a topic that shrank, or that they do not want any more.
    names = (member.member_id for member in roster.members)
    return count_moved(roster, owners_of(roster, dict(zip(names, plan, strict=True))))
