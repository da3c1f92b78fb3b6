"""Defines a strategy: a plan with the name, settings, user data and promise that clients and help texts need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rebalance_agent.assignors.balance.placement import best_loads
from rebalance_agent.assignors.balance.promise import Promise, by_count
from rebalance_agent.assignors.cooperative_step import withhold
from rebalance_agent.assignors.replay_limits import NO_LIMITS, ReplayLimits
from rebalance_agent.assignors.roster import CopiesPlan, Plan, Reader, Roster, prepare_roster
from rebalance_agent.assignors.strategy_settings import Setting
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import (
    UNKNOWN_GENERATION,
    AssignedCopies,
    GroupAssignment,
    GroupSubscription,
    MemberUserData,
)

__all__ = ["COOPERATIVE_PREFIX", "Strategy", "Writer"]

COOPERATIVE_PREFIX = "cooperative-"
"""Prefix of cooperative forms, which need their own names because the coordinator negotiates only by name."""

Writer = Callable[[MemberUserData], bytes]
"""Encodes a strategy's user data."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """An assignor. It is immutable and pure: equal groups get equal assignments.

    ``name`` is the protocol name in JoinGroup; eager and cooperative forms have different names. ``config`` lists the
    settings of a consumer. ``reader`` and ``writer`` decode and encode user data, None if members send none;
    ``only_owned``: the user data contains only ownership and its generation. ``cooperative_form``: the strategy also
    has a cooperative form, whose user data has the format of ``cooperative_reader`` and ``cooperative_writer``, if
    given.

    ``copies`` assigns copies in addition to a plan (its second plan is what members get in this round); ``answer``
    encodes a member's partitions and copies as user data of its assignment, and ``copies_in`` decodes the copies from
    this user data. ``redundancy`` returns how many members get each partition. ``internal_topics``: additional topics
    that must exist -> their partitions, 0 if not known (see ``internal_topics.prepare``); None if the strategy needs
    none. ``by_load``: partitions are weighted by their loads, which the caller must provide. ``passive_members``: the
    strategy leaves some members without partitions on purpose, until they take over from others.

    ``spread_rank`` and ``replay_limits`` are for advice: the rank among strategies that only promise an even spread
    (strategies that move fewer partitions have lower ranks; None if it promises something else), and the inputs that
    recorded events lack.
    """

    name: str
    protocol: RebalanceProtocol
    summary: str
    plan: Callable[[Roster], Plan]
    promise: Callable[[Roster], Promise] = by_count
    config: tuple[Setting[Any], ...] = ()
    reader: Reader | None = None
    writer: Writer | None = None
    only_owned: bool = False
    copies: Callable[[Roster, Plan, Plan], CopiesPlan] | None = None
    answer: Callable[[TopicPartitions, AssignedCopies], bytes] | None = None
    copies_in: Callable[[bytes], AssignedCopies] | None = None
    redundancy: Callable[[Roster], int] | None = None
    internal_topics: Callable[[Roster], Mapping[str, int]] | None = None
    by_load: bool = False
    passive_members: bool = False
    cooperative_form: bool = False
    cooperative_reader: Reader | None = None
    cooperative_writer: Writer | None = None
    spread_rank: int | None = None
    replay_limits: ReplayLimits = NO_LIMITS

    def cooperative(self) -> Strategy:
        """Return the cooperative form: the same plan, but partitions that move are revoked before they are assigned."""
        return replace(
            self,
            name=COOPERATIVE_PREFIX + self.name,
            protocol=RebalanceProtocol.COOPERATIVE,
            summary=f"like {self.name}; partitions that move are revoked first, and assigned in a follow-up rebalance",
            reader=self.cooperative_reader or self.reader,
            writer=self.cooperative_writer or self.writer,
            cooperative_form=False,
        )

    def user_data(
        self,
        config: Mapping[str, str],
        owned: TopicPartitions,
        generation: int = UNKNOWN_GENERATION,
        standbys: TopicPartitions | None = None,
    ) -> bytes | None:
        """Return the user data of a member with this ``config`` for its subscription; None for none.

        ``owned`` was assigned in ``generation``; ``standbys`` are partitions of which it has a copy.

        Raises:
            AssignmentError: a configured value is not valid for its setting.
        """
        settings = {setting.name: setting.of(config) for setting in self.config}
        return None if self.writer is None else self.writer(MemberUserData(settings, owned, generation, standbys or {}))

    def roster(self, group: GroupSubscription) -> Roster:
        """Return ``group`` prepared for this strategy.

        Raises:
            AssignmentError: a configured value is not valid for its setting.
        """
        eager = self.protocol is RebalanceProtocol.EAGER
        return prepare_roster(group, self.config, self.reader, believe_owned=eager, only_owned=self.only_owned)

    def assign(self, group: GroupSubscription) -> GroupAssignment:
        """Assign all partitions. Problems of members, user data or topics are returned in the result, not raised.

        Raises:
            AssignmentError: see `roster`.
        """
        roster = self.roster(group)
        plan = self.plan(roster)
        target = _by_member_id(roster, plan)
        members, now, revoking = target, plan, {}
        if self.protocol is RebalanceProtocol.COOPERATIVE:
            now, held = withhold(roster, plan)
            members = _by_member_id(roster, now)
            revoking = {member: topics for member, topics in _by_member_id(roster, held).items() if topics}
        copied = None if self.copies is None else self.copies(roster, plan, now)
        copies = {} if copied is None else _copies_by_member_id(roster, copied)
        answers, unanswered = self._answers(members, copies)
        return GroupAssignment(
            members=members,
            target=target,
            revoking=revoking,
            standbys={member_id: assigned.standbys for member_id, assigned in copies.items()},
            missing_standbys=copied.missing if copied else None,
            redundancy=1 if self.redundancy is None else self.redundancy(roster),
            user_data=answers,
            unknown_topics=roster.unknown_topics,
            user_data_errors={**roster.user_data_errors, **unanswered},
            duplicate_ids=roster.duplicate_ids,
        )

    def _answers(
        self, members: Mapping[str, TopicPartitions], copies: Mapping[str, AssignedCopies]
    ) -> tuple[dict[str, bytes], dict[str, str]]:
        """Return user data of assignments, and errors for names that no broker would allow; both by member id."""
        answers: dict[str, bytes] = {}
        errors: dict[str, str] = {}
        if self.answer is not None:
            for member_id, given in members.items():
                try:
                    answers[member_id] = self.answer(given, copies.get(member_id, AssignedCopies()))
                except InvalidInputError as error:
                    errors[member_id] = f"its assignment's user data cannot be written: {error}"
        return answers, errors

    def targets(self, group: GroupSubscription) -> dict[str, int]:
        """Return member id -> the most partitions it has in an assignment that keeps this strategy's promise.

        Raises:
            AssignmentError: see `roster`.
        """
        roster = self.roster(group)
        promise = self.promise(roster)
        kept = best_loads(roster, promise)
        targets = promise.floors if kept is None else promise.targets(kept[0])
        return {member.member_id: target for member, target in zip(roster.members, targets, strict=True)}


def _by_member_id(roster: Roster, plan: Plan) -> dict[str, TopicPartitions]:
    return {member.member_id: _in_order(given) for member, given in zip(roster.members, plan, strict=True)}


def _copies_by_member_id(roster: Roster, plan: CopiesPlan) -> dict[str, AssignedCopies]:
    standbys, warmups = (_by_member_id(roster, copies) for copies in (plan.standbys, plan.warmups))
    return {member_id: AssignedCopies(given, warmups[member_id]) for member_id, given in standbys.items()}


def _in_order(given: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    topics = sorted(given)
    # Most plans already have topics in order, and this check takes a tenth of the time of a copy.
    return given if topics == list(given) else {topic: given[topic] for topic in topics}
