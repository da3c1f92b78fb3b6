"""For each strategy a small group before and after a change: the sources of the pictures of ``docs/strategies``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.model.subscription import GroupAssignment, GroupSubscription, MemberSubscription, TopicMetadata

__all__ = ["PICTURED_GROUPS", "Panel", "PicturedGroup", "panels"]


@dataclass(frozen=True)
class Member:
    """One member of a pictured group: ``note`` is the text under its name."""

    name: str
    topics: tuple[str, ...]
    note: str = ""
    config: Mapping[str, str] = field(default_factory=dict)
    rack: str | None = None


@dataclass(frozen=True)
class PicturedGroup:
    """A group before and after an ``event``: ``first`` are its members before, ``then`` those after."""

    strategy: str
    topics: Mapping[str, TopicMetadata]
    first: tuple[Member, ...]
    event: str
    then: tuple[Member, ...]
    caption: str
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Panel:
    """The content of one panel: members with partitions; ``new`` are partitions that the member did not have before."""

    title: str
    members: tuple[Member, ...]
    assignment: GroupAssignment
    had: Mapping[tuple[str, int], frozenset[str]]


def panels(group: PicturedGroup) -> tuple[Panel, Panel]:
    """The panels before and after the event, as the strategy assigns; members keep partitions and copies as owned."""
    strategy = STRATEGIES[group.strategy]
    first = strategy.assign(GroupSubscription(group.topics, _members(group.first), config=group.config))
    members = tuple(
        replace(
            each,
            owned=first.members.get(each.member_id, {}),
            standbys=first.standbys.get(each.member_id, {}),
            generation=1,
        )
        for each in _members(group.then)
    )
    second = strategy.assign(GroupSubscription(group.topics, members, config=group.config))
    had: dict[tuple[str, int], set[str]] = {}
    for name, given in first.members.items():
        for topic, numbers in given.items():
            for number in numbers:
                had.setdefault((topic, number), set()).add(name)
    before = {partition: frozenset(names) for partition, names in had.items()}
    return Panel("before", group.first, first, {}), Panel(group.event, group.then, second, before)


def _members(members: tuple[Member, ...]) -> tuple[MemberSubscription, ...]:
    return tuple(MemberSubscription(each.name, each.topics, rack=each.rack, config=each.config) for each in members)


def _topics(**counts: int) -> dict[str, TopicMetadata]:
    return {name: TopicMetadata(count) for name, count in counts.items()}


def _plain(names: str, *topics: str) -> tuple[Member, ...]:
    return tuple(Member(name, topics) for name in names.split())


def _weighted(name: str, weight: int) -> Member:
    return Member(name, ("orders",), f"weight {weight}", {"assignment.consumer.weight": str(weight)})


def _ranked(name: str, priority: int) -> Member:
    return Member(name, ("orders",), f"priority {priority}", {"assignment.consumer.priority": str(priority)})


def _racked(name: str, rack: str) -> Member:
    return Member(name, ("orders",), f"rack {rack}", rack=rack)


PICTURED_GROUPS = (
    PicturedGroup(
        "range",
        _topics(orders=5, payments=5),
        _plain("a b", "orders", "payments"),
        "after c joined",
        _plain("a b c", "orders", "payments"),
        "Consecutive numbers of each topic: the first members get one more partition of every topic. "
        "The same number of both topics is on the same member.",
    ),
    PicturedGroup(
        "roundrobin",
        _topics(orders=5, payments=5),
        _plain("a b", "orders", "payments"),
        "after c joined",
        _plain("a b c", "orders", "payments"),
        "All partitions are assigned in turn: even counts, but nearly all partitions move when the group changes.",
    ),
    PicturedGroup(
        "shuffled-roundrobin",
        _topics(orders=2, payments=2, refunds=2),
        _plain("host1 host2 host3", "orders", "payments", "refunds"),
        "after host4 joined",
        _plain("host1 host2 host3 host4", "orders", "payments", "refunds"),
        "As even as possible, in an order of members that differs between groups: no topic is entirely on one host.",
    ),
    PicturedGroup(
        "sticky",
        _topics(orders=6, payments=4),
        _plain("a b", "orders", "payments"),
        "after c joined",
        _plain("a b c", "orders", "payments"),
        "As even as possible: only the partitions for the newcomer move.",
    ),
    PicturedGroup(
        "weighted-sticky",
        _topics(orders=12),
        (_weighted("a", 300), _weighted("b", 100)),
        "after c joined",
        (_weighted("a", 300), _weighted("b", 100), _weighted("c", 200)),
        "In proportion to weights: only the partitions for the newcomer move.",
    ),
    PicturedGroup(
        "failover",
        _topics(orders=6),
        (_ranked("active", 2), _ranked("passive", 1)),
        "after active left",
        (_ranked("passive", 1), _ranked("spare", 1)),
        "The member with the highest priority has all partitions. An equal newcomer does not take over.",
    ),
    PicturedGroup(
        "redundant",
        _topics(orders=6),
        (_racked("a", "r1"), _racked("b", "r1"), _racked("c", "r2")),
        "after d joined in r2",
        (_racked("a", "r1"), _racked("b", "r1"), _racked("c", "r2"), _racked("d", "r2")),
        "Every partition is on two members, in different racks if possible.",
        {"assignment.redundancy": "2"},
    ),
    PicturedGroup(
        "rack-aware-sticky",
        {"orders": TopicMetadata(8, tuple((f"r{1 + number % 2}",) for number in range(8)))},
        (_racked("a", "r1"), _racked("b", "r2")),
        "after c joined in r2",
        (_racked("a", "r1"), _racked("b", "r2"), _racked("c", "r2")),
        "Even numbers have their replica in r1, odd ones in r2. Balance comes first, then the rack, then the fewest "
        "moves.",
    ),
    PicturedGroup(
        "lag-aware",
        {"orders": TopicMetadata(7, loads=(60, 10, 10, 10, 10, 10, 10))},
        _plain("a b", "orders"),
        "after c joined",
        _plain("a b c", "orders"),
        "Partition 0 has six times the lag of any other: its owner gets few other partitions.",
    ),
    PicturedGroup(
        "copartitioned-sticky",
        _topics(clicks=6, views=6),
        _plain("a b c", "clicks", "views"),
        "after c was killed",
        _plain("a b", "clicks", "views"),
        "The same number of both topics stays together; a member with a copy (dashed) takes over.",
        {"assignment.num.standbys": "1"},
    ),
    PicturedGroup(
        "task-sticky",
        _topics(clicks=4, views=4),
        (
            Member("p1-thread1", ("clicks", "views"), "process p1", {"assignment.process.id": "p1"}),
            Member("p1-thread2", ("clicks", "views"), "process p1", {"assignment.process.id": "p1"}),
            Member("p2-thread1", ("clicks", "views"), "process p2", {"assignment.process.id": "p2"}),
        ),
        "after process p3 joined",
        (
            Member("p1-thread1", ("clicks", "views"), "process p1", {"assignment.process.id": "p1"}),
            Member("p1-thread2", ("clicks", "views"), "process p1", {"assignment.process.id": "p1"}),
            Member("p2-thread1", ("clicks", "views"), "process p2", {"assignment.process.id": "p2"}),
            Member("p3-thread1", ("clicks", "views"), "process p3", {"assignment.process.id": "p3"}),
        ),
        "Tasks in proportion to threads, copies (dashed) on another process; p3 builds copies before it gets tasks.",
        {"assignment.num.standbys": "1"},
    ),
    PicturedGroup(
        "cooperative-sticky",
        _topics(orders=6, payments=4),
        _plain("a b", "orders", "payments"),
        "after c joined, first of two rounds",
        _plain("a b c", "orders", "payments"),
        "Partitions that move are revoked first, and c gets them in the follow-up rebalance. All others continue.",
    ),
)
"""In the order of the documentation."""
