"""Replays a recorded history through another strategy: each rebalance starts from that strategy's previous assignment.

Both forms of a strategy make the same plan, so one pass serves the eager and the cooperative form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import is_

from rebalance_agent.advice.replay.eligible_strategies import ReplaySettings, family, library_strategy
from rebalance_agent.advice.replay.move_counts import Assignment, MoveCounts, count_moves
from rebalance_agent.advice.replay.recorded_history import RecordedHistory, RecordedRebalance
from rebalance_agent.advice.replay.recorded_spread import hosts_of
from rebalance_agent.assignors import Plan, Roster, Strategy
from rebalance_agent.assignors.assignment_facts import count_moved, owners_of
from rebalance_agent.assignors.balance.promise import by_count
from rebalance_agent.assignors.hosts.topic_hosts import HostSpread, host_spread
from rebalance_agent.assignors.measure_quality import balance_of
from rebalance_agent.assignors.roster import prepare_roster_again
from rebalance_agent.errors import DecodeError
from rebalance_agent.model.partitions import TopicPartitions, count_partitions
from rebalance_agent.model.subscription import MemberUserData

__all__ = ["ReplayedRebalance", "replay_rebalances", "spread_anew"]

USER_DATA_MAX = 10_000
"""Maximum number of decoded user data in the cache. Some user data changes with every generation, most does not."""

_NOTHING: TopicPartitions = {}


@dataclass(frozen=True, slots=True)
class ReplayedRebalance:
    """The decision of a strategy in one rebalance.

    ``assignment``: partitions by member identity. ``given``: the moves since the strategy's previous assignment; None
    if there is no previous assignment, as in the first rebalance. ``needed``: the fewest moves that the balance needed;
    None if that is not known. ``skew_ratio`` and ``imbalance`` are measured against the strategy's promise if it is the
    group's own, otherwise against the best balance of partition counts. ``host_spread``: None if no topic could be on
    several hosts.
    """

    rebalance: RecordedRebalance
    assignment: Assignment
    given: MoveCounts | None
    moved: int
    needed: int | None
    skew_ratio: float
    imbalance: int
    host_spread: HostSpread | None


def replay_rebalances(
    history: RecordedHistory, strategy: Strategy, settings: ReplaySettings | None = None
) -> Iterator[ReplayedRebalance]:
    """Yield the decision of ``strategy`` in each rebalance in which an assignor ran.

    After an empty group all members start without partitions; the replay also starts without partitions if the previous
    event was not observed.

    Raises:
        AssignmentError: a setting is not valid.
    """
    replay = _Replay(strategy, settings or ReplaySettings(), library_strategy(history.assignor))
    for rebalance in history.rebalances:
        if not rebalance.closing.members:
            replay.forget()
        elif not rebalance.returned:
            if rebalance.before is None:
                replay.begin()
            yield replay.decide(rebalance)


def spread_anew(
    history: RecordedHistory, strategy: Strategy, settings: ReplaySettings | None = None
) -> HostSpread | None:
    """Return the spread over hosts if all members of the last rebalance started again, so that none owned a partition.

    A replay does not show this: a strategy that moves little keeps the spread that resulted from its first rebalances.
    Return None if no topic could be on several hosts, or if no assignor ever ran.

    Raises:
        AssignmentError: a setting is not valid.
    """
    if not history.decided:
        return None
    replay = _Replay(strategy, settings or ReplaySettings(), library_strategy(history.assignor))
    return replay.decide(history.decided[-1]).host_spread


class _Replay:
    """The state of one strategy during one history."""

    def __init__(self, strategy: Strategy, settings: ReplaySettings, recorded: Strategy | None) -> None:
        self._strategy = strategy
        self._config = settings.config
        self._host_names = settings.hosts
        own = recorded is not None and family(recorded.name) == family(strategy.name)
        self._reader = recorded.reader if recorded and own and not strategy.only_owned else None
        # All strategies except the group's own use the same measure, so that their skews can be compared.
        self._promise = strategy.promise if own else by_count
        self._read: dict[bytes, MemberUserData | None] = {}
        self._had: Assignment | None = None
        self._copies: Mapping[str, TopicPartitions] = {}

    def begin(self) -> None:
        """Start without a known previous assignment."""
        self._had, self._copies = None, {}

    def forget(self) -> None:
        """Start from an empty group."""
        self._had, self._copies = {}, {}

    def decide(self, rebalance: RecordedRebalance) -> ReplayedRebalance:
        """Decide the next rebalance."""
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
            # Moves away from members that could have kept the partition were needless, as far as they exceed the
            # minimum.
            needed=None if balance_found.moved_min is None else moved - (left - balance_found.moved_min),
            skew_ratio=balance_found.skew_ratio,
            imbalance=balance_found.imbalance,
            host_spread=host_spread(roster, plan, balance_found.targets, self._hosts(rebalance)),
        )

    def _hosts(self, rebalance: RecordedRebalance) -> list[str]:
        hosts = hosts_of(rebalance, self._host_names)
        return [hosts[member.member_id] for member in rebalance.roster.members]

    def _roster(self, rebalance: RecordedRebalance, claims: Sequence[TopicPartitions]) -> Roster:
        by_count(rebalance.roster)  # fills the roster's cache, which the rosters of all strategies share
        return prepare_roster_again(
            rebalance.roster,
            claims,
            self._recorded_user_data(rebalance),
            self._strategy.config,
            self._config,
            [self._copies.get(name, _NOTHING) for name in rebalance.identities] if self._copies else None,
        )

    def _recorded_user_data(self, rebalance: RecordedRebalance) -> Sequence[MemberUserData | None]:
        """Return the members' decoded user data; ownership in it is ignored."""
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
        if self._strategy.copies is not None:
            # A replay has no round in which part of the plan is withheld.
            copies = self._strategy.copies(roster, plan, plan)
            self._copies = dict(zip(rebalance.identities, copies.standbys, strict=True))


def _count_left(roster: Roster, claims: Sequence[TopicPartitions], plan: Plan, given: MoveCounts | None) -> int:
    """Return how many owned partitions do not stay with their owner."""
    if given and all(map(is_, claims, roster.ownership_index.holdings)):
        return sum(given.moved.values())
    # Some claims are not valid: a topic shrank, or its subscription ended.
    names = (member.member_id for member in roster.members)
    return count_moved(roster, owners_of(roster, dict(zip(names, plan, strict=True))))
