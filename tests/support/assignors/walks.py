"""Sequences of changes of a group, given to an assignor in the form in which clients send them.

Built from a seed, because mixed groups of some size are rare among those that Hypothesis draws step by step.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from rebalance_agent.assignors import Strategy
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import (
    UNKNOWN_GENERATION,
    GroupAssignment,
    GroupSubscription,
    MemberSubscription,
    TopicMetadata,
)

TOPICS_MAX, PARTITIONS_MAX, MEMBERS_MAX = 7, 9, 9


@dataclass(frozen=True)
class Stop:
    """One rebalance: the group as the assignor gets it, its true ownership, and the result."""

    reported: GroupSubscription
    truth: GroupSubscription
    assignment: GroupAssignment


@dataclass(frozen=True)
class Member:
    """A member and its client: ``version`` of its Subscription; ``undated``: no generation in its user data."""

    member_id: str
    topics: tuple[str, ...]
    instance_id: str | None
    version: int
    undated: bool
    owned: TopicPartitions = field(default_factory=dict)
    generation: int = UNKNOWN_GENERATION

    def reported(self, strategy: Strategy) -> MemberSubscription:
        """The member as the leader gets it."""
        user_data = strategy.user_data({}, self.owned, self.generation) if self.owned else None
        if user_data and self.undated and strategy.name.endswith("sticky") and "weighted" not in strategy.name:
            user_data = user_data[:-4]  # the generation is the last int32 of Kafka's sticky user data
        cooperative = strategy.protocol is RebalanceProtocol.COOPERATIVE
        return MemberSubscription(
            self.member_id,
            self.topics,
            self.instance_id,
            owned=self.owned if cooperative and self.version >= 1 else {},
            generation=self.generation if self.version >= 2 else UNKNOWN_GENERATION,
            user_data=user_data,
        )

    def truth(self, strategy: Strategy) -> MemberSubscription:
        """The member with the partitions that it claims, and their generation as far as the leader can read it."""
        cooperative = strategy.protocol is RebalanceProtocol.COOPERATIVE
        dated = self.version >= 2 or ("weighted" not in strategy.name and not self.undated)
        return MemberSubscription(
            self.member_id,
            self.topics,
            self.instance_id,
            owned={} if cooperative and self.version == 0 else self.owned,
            generation=self.generation if dated else UNKNOWN_GENERATION,
        )


class Walk:
    """A group that changes; ``newest``: only clients whose claims have a generation and existing partitions."""

    def __init__(self, seed: int, *, newest: bool = False) -> None:
        self._random = random.Random(seed)
        self._newest = newest
        self._born = 0
        self._past: list[dict[str, TopicPartitions]] = []
        self._topics = {f"t{n}": self._count() for n in range(self._random.randint(1, TOPICS_MAX))}
        self._mixed = self._random.random() < 0.85
        self._members = [self._newcomer() for _ in range(self._random.randint(1, MEMBERS_MAX))]

    def stops(self, strategy: Strategy, steps: int) -> Iterator[Stop]:
        """``steps`` rebalances under ``strategy``, with changes in between."""
        for generation in range(1, steps + 1):
            topics = {name: TopicMetadata(count) for name, count in self._topics.items()}
            reported = GroupSubscription(topics, tuple(each.reported(strategy) for each in self._members))
            truth = GroupSubscription(topics, tuple(each.truth(strategy) for each in self._members))
            assignment = strategy.assign(reported)
            yield Stop(reported, truth, assignment)
            self._past.append({key: dict(given) for key, given in assignment.members.items()})
            self._members = [
                replace(each, owned=assignment.members[each.member_id], generation=generation) for each in self._members
            ]
            changes = [self._join, self._leave, self._restart, self._grow, self._resubscribe, self._create]
            if not self._newest:
                changes += [
                    self._stale,
                    self._stale,
                    self._double,
                    self._double,
                    self._shrink,
                    self._delete,
                    self._client,
                ]
            for change in self._random.sample(changes, self._random.randint(0, 3)):
                change(generation)

    def _count(self) -> int:
        return self._random.choice([1, 1, 2, 3, 5, PARTITIONS_MAX, self._random.randint(0, PARTITIONS_MAX)])

    def _some_topics(self) -> tuple[str, ...]:
        names = [*self._topics, *([] if self._newest else ["unknown"])]
        if not self._mixed:
            return tuple(self._topics)
        return tuple(self._random.sample(names, self._random.randint(min(1, len(names)), len(names))))

    def _newcomer(self) -> Member:
        self._born += 1
        static = self._random.random() < 0.3
        return Member(
            f"m{self._random.randint(10, 99)}-{self._born}",
            self._some_topics(),
            f"i{self._born}" if static else None,
            version=3 if self._newest else self._random.randint(0, 3),
            undated=not self._newest and self._random.random() < 0.3,
        )

    def _one(self) -> int | None:
        return self._random.randrange(len(self._members)) if self._members else None

    def _join(self, _: int) -> None:
        if len(self._members) < MEMBERS_MAX:
            self._members.append(self._newcomer())

    def _leave(self, _: int) -> None:
        if self._members:
            self._members.pop(self._one())

    def _restart(self, _: int) -> None:
        if self._members:
            index = self._one()
            self._born += 1
            old = self._members[index]
            self._members[index] = Member(f"r{self._born}", old.topics, old.instance_id, old.version, old.undated)

    def _resubscribe(self, _: int) -> None:
        if self._members:
            index = self._one()
            self._members[index] = replace(self._members[index], topics=self._some_topics())

    def _client(self, _: int) -> None:
        if self._members:
            index = self._one()
            version, undated = self._random.randint(0, 3), self._random.random() < 0.5
            self._members[index] = replace(self._members[index], version=version, undated=undated)

    def _stale(self, generation: int) -> None:
        """A member that missed some rebalances returns with its partitions from before them."""
        if self._members:
            index, past = self._one(), self._random.randrange(generation)
            had = self._past[past].get(self._members[index].member_id, {})
            self._members[index] = replace(self._members[index], owned=had, generation=past + 1)

    def _double(self, _: int) -> None:
        """A member claims partitions that another one was assigned in the same generation."""
        if len(self._members) >= 2:
            index, other = self._random.sample(range(len(self._members)), 2)
            theirs = self._members[other].owned
            mine = dict(self._members[index].owned)
            for topic, numbers in theirs.items():
                also = self._random.sample(numbers, self._random.randint(0, len(numbers)))
                if also:
                    mine[topic] = tuple(sorted({*mine.get(topic, ()), *also}))
            self._members[index] = replace(self._members[index], owned=mine)

    def _create(self, generation: int) -> None:
        if len(self._topics) < TOPICS_MAX:
            self._topics[f"n{generation}"] = self._count()

    def _delete(self, _: int) -> None:
        if len(self._topics) > 1:
            del self._topics[self._random.choice(list(self._topics))]

    def _grow(self, _: int) -> None:
        name = self._random.choice(list(self._topics))
        self._topics[name] = min(PARTITIONS_MAX, self._topics[name] + self._random.randint(1, 4))

    def _shrink(self, _: int) -> None:
        name = self._random.choice(list(self._topics))
        self._topics[name] = max(0, self._topics[name] - self._random.randint(1, 4))
