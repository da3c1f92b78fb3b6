"""The strategies' part of one consumer, independent of its client: subscription, decision as leader, assignment.

A client's adapter translates between the client's types and these, and calls `Participant`.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Protocol

from rebalance_agent.assignors import Strategy
from rebalance_agent.assignors.internal_topics import TopicAdmin, prepare, wanted_topics
from rebalance_agent.clients.held_copies import HeldCopies, HeldStandbys
from rebalance_agent.errors import AssignmentError, DecodeError
from rebalance_agent.groupprotocol.consumer_protocol import (
    NEWEST_VERSION,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_agent.instrumentation.assign_decision import AssignDecision
from rebalance_agent.instrumentation.suppress import quietly
from rebalance_agent.model.partitions import TopicPartitions, pairs
from rebalance_agent.model.subscription import (
    UNKNOWN_GENERATION,
    AssignedCopies,
    ConsumerAssignment,
    ConsumerSubscription,
    GroupAssignment,
    GroupSubscription,
    MemberSubscription,
    TopicMetadata,
    with_shared_names,
)

__all__ = ["Loads", "Participant", "TopicSource", "read_assignment", "read_member", "settings_of"]

_logger = logging.getLogger(__name__)

LOGGED_MAX = 10
"""Maximum number of topics, and of members, that one decision names in the log."""

LOGGED_NAME_MAX = 249
"""Maximum number of characters of a name in the log: Kafka's limit for topics, but a subscription can exceed it."""

Loads = Callable[[Mapping[str, int]], Mapping[str, Sequence[float]]]
"""Function from topic -> number of partitions to topic -> one load per partition (lag, records per second, ...).

The leader calls it while the group waits, so it must not block. Topics may be left out.
"""


class TopicSource(TopicAdmin, Protocol):
    """Looks up topics that the group does not subscribe to, and may create them."""

    def partitions_of(self, topics: Collection[str]) -> Mapping[str, int]:
        """Return topic -> partition count, for those of ``topics`` that exist.

        Raises:
            RebalanceAgentError: the cluster cannot be queried now.
        """
        ...


@dataclass(eq=False)
class Participant:
    """Subscription, decisions and assignment of one consumer. Consumers of one process share no state.

    ``owned`` was assigned in ``generation``, with copies of ``standbys``. They are kept until the next assignment. An
    outdated claim does no harm, since each claim carries its generation.

    A member of ``group``.

    Args:
        strategies: those that the consumer lists.
        config: settings of the strategies.
        group: the consumer group.
        rack: the consumer's rack (KIP-881).
        loads: asked by the leader for strategies that balance loads.
        internal_topics: looks up internal topics that a strategy needs; without it they are not checked.
        create_internal_topics: whether missing internal topics are created.
        held_standbys: reports the application's copies; by default those last assigned.

    Raises:
        AssignmentError: a setting has a value that its strategy does not accept.
    """

    strategies: Iterable[Strategy]
    config: Mapping[str, str]
    group: str = field(kw_only=True)
    rack: str | None = None
    loads: Loads | None = None
    internal_topics: TopicSource | None = None
    create_internal_topics: bool = False
    held_standbys: HeldStandbys | None = None

    def __post_init__(self) -> None:
        """Check the settings; nothing is owned yet."""
        for strategy in self.strategies:
            for setting in strategy.config:
                setting.of(self.config)
        self.owned: TopicPartitions = {}
        self.generation = UNKNOWN_GENERATION
        self.standbys: TopicPartitions = {}
        self._warmups: TopicPartitions = {}
        self._copies = HeldCopies(self.held_standbys, self.group)
        self._offered: frozenset[tuple[str, int]] = frozenset()

    def subscription(self, strategy: Strategy, topics: Iterable[str], *, held: TopicPartitions | None = None) -> bytes:
        """Return the member's ``ConsumerProtocolSubscription`` for ``strategy``, encoded.

        Version 3 carries generation (KIP-792) and rack (KIP-881). Owned partitions are also sent under eager
        strategies, as a hint; the leader withholds no partition because of them. Under cooperative strategies they must
        be exact: pass ``held``, the partitions that the member has not given up before it joins (KIP-429).
        """
        owned = self.owned if held is None else held
        standbys = self.standbys if strategy.copies_in is None else self._copies.held(self.standbys)
        return encode_subscription(
            ConsumerSubscription(
                version=NEWEST_VERSION,
                topics=tuple(sorted(topics)),
                user_data=strategy.user_data(self.config, owned, self.generation, standbys),
                owned_partitions=owned,
                generation_id=self.generation,
                rack_id=self.rack,
            )
        )

    def decide(
        self, strategy: Strategy, topics: Mapping[str, TopicMetadata], members: Iterable[MemberSubscription]
    ) -> AssignDecision:
        """Assign for the group as its leader, and log invalid user data and unknown topics.

        Raises:
            RebalanceAgentError: internal topics are missing or have other partition counts than ``strategy`` needs, or
                cannot be looked up or created.
        """
        shared = with_shared_names(members)
        group = self._prepared(strategy, GroupSubscription(topics, shared, self.group, self.config))
        if strategy.by_load and self.loads is not None:
            group = replace(group, topics=self._loaded(group.topics, self.loads))
        assignment = strategy.assign(group)
        self._log_problems(assignment)
        return AssignDecision(group, assignment, strategy)

    def _log_problems(self, assignment: GroupAssignment) -> None:
        problems = assignment.user_data_errors
        for member_id, problem in islice(problems.items(), LOGGED_MAX):
            _logger.warning("group %s, member %s: user data not used: %s", self.group, member_id, problem)
        if len(problems) > LOGGED_MAX:
            text = "group %s: the user data of %d more members are not used"
            _logger.warning(text, self.group, len(problems) - LOGGED_MAX)
        if unknown := assignment.unknown_topics:
            names = ", ".join(name[:LOGGED_NAME_MAX] for name in unknown[:LOGGED_MAX])
            more = f" and {len(unknown) - LOGGED_MAX} more" if len(unknown) > LOGGED_MAX else ""
            _logger.info("group %s: no metadata yet for topics %s%s", self.group, names, more)
        if assignment.missing_standbys:
            text = "group %s: %d standby copies have no member: more members or processes are needed"
            _logger.warning(text, self.group, assignment.missing_standbys)

    @staticmethod
    def answers(decision: AssignDecision) -> dict[str, bytes]:
        """Member id -> its ``ConsumerProtocolAssignment``, encoded."""
        user_data = decision.assignment.user_data
        return {
            member_id: encode_assignment(ConsumerAssignment(NEWEST_VERSION, given, user_data.get(member_id)))
            for member_id, given in decision.assignment.members.items()
        }

    def received(
        self, owned: TopicPartitions, generation: int, strategy: Strategy | None = None, user_data: bytes | None = None
    ) -> None:
        """Store the assignment of ``generation``.

        ``user_data``, if given, is for ``strategy``, one of this package's.
        """
        copies = AssignedCopies()
        if strategy is not None and strategy.copies_in is not None and user_data:
            try:
                copies = strategy.copies_in(user_data)
            except DecodeError as error:
                _logger.warning("group %s: the assignment's user data is not used: %s", self.group, error)
        self.owned, self.generation = owned, generation
        self.standbys, self._warmups = copies.standbys, copies.warmups
        if not self._warmups:
            self._offered = frozenset()

    def takes_units(self) -> bool:
        """Whether the member should rejoin now, for units that wait for its copies; True once for each copy.

        Units move in a rebalance in which the member reports their copies. If the application does not report them,
        they count as complete at once, so nothing else would start that rebalance.
        """
        awaited = frozenset(pairs(self._warmups))
        if self.held_standbys is not None or awaited <= self._offered:
            return False
        self._offered |= awaited
        return True

    def _prepared(self, strategy: Strategy, group: GroupSubscription) -> GroupSubscription:
        needed = wanted_topics(strategy, group)
        if self.internal_topics is None or not needed:
            return group
        subscribed = {topic for member in group.members for topic in member.topics}
        if unseen := (subscribed | needed.keys()) - group.topics.keys():
            counts = self.internal_topics.partitions_of(unseen)
            internal = {topic: TopicMetadata(count) for topic, count in counts.items()}
            group = replace(group, topics={**group.topics, **internal})
        return prepare(strategy, group, self.internal_topics if self.create_internal_topics else None)

    @staticmethod
    def _loaded(topics: Mapping[str, TopicMetadata], loads: Loads) -> Mapping[str, TopicMetadata]:
        with quietly("read the partitions' loads"):
            reported = loads({topic: metadata.partitions for topic, metadata in topics.items()})
            return {topic: _with_loads(topic, metadata, reported.get(topic)) for topic, metadata in topics.items()}
        return topics


def settings_of(strategies: Mapping[str, Strategy], configured: Mapping[str, object]) -> dict[str, str]:
    """Return a consumer's ``assignor_config`` with its values as text.

    Raises:
        AssignmentError: ``configured`` is not a mapping, or a key is not a setting of any of ``strategies``.
    """
    if not isinstance(configured, Mapping):
        raise AssignmentError(f"assignor_config: must map settings to values, not be {configured!r:.80}")
    names = {setting.name for strategy in strategies.values() for setting in strategy.config}
    if unknown := sorted(configured.keys() - names):
        raise AssignmentError(f"assignor_config: {unknown[0]!r} is not a setting of {', '.join(strategies) or 'these'}")
    return {name: str(value) for name, value in configured.items()}


def read_member(member_id: str, instance_id: str | None, data: bytes) -> MemberSubscription | None:
    """Return a member decoded from its subscription; None, with a line in the log, if that cannot be decoded."""
    try:
        subscription = decode_subscription(data)
    except DecodeError as error:
        _logger.warning("member %s gets no partitions: its subscription cannot be read: %s", member_id, error)
        return None
    return MemberSubscription(
        member_id=member_id,
        topics=subscription.topics,
        instance_id=instance_id,
        owned=subscription.owned_partitions,
        generation=subscription.generation_id,
        rack=subscription.rack_id or None,
        user_data=subscription.user_data or None,
    )


def read_assignment(data: bytes) -> ConsumerAssignment | None:
    """Return the member's assignment, decoded; None, with a line in the log, if it cannot be decoded.

    A leader that leaves a member out makes the coordinator send it no bytes.
    """
    try:
        return decode_assignment(data)
    except DecodeError as error:
        _logger.warning("this member gets no partitions: its assignment cannot be read: %s", error)
        return None


def _with_loads(topic: str, metadata: TopicMetadata, loads: Sequence[float] | None) -> TopicMetadata:
    if loads is None:
        return metadata
    if len(loads) != metadata.partitions or not all(math.isfinite(load) and load >= 0 for load in loads):
        _logger.warning("loads of topic %s are not used: each partition needs one load of 0 or more", topic)
        return metadata
    return replace(metadata, loads=tuple(map(float, loads)))
