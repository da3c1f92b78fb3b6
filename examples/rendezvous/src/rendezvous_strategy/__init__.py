"""``rendezvous``: the owner of a partition depends only on the members' names, not on previous assignments.

Every member has a score for each partition, the hash of both names. The partition goes to the subscriber with the
highest score that has room (rendezvous hashing with bounded loads): no member gets more of a topic than its share plus
the slack. After a stop of the whole group, or in a second group with the same members, each member gets the same
partitions again, and can use its cache or its local files. This needs static members, because the ids of others change
with each restart.
"""

from __future__ import annotations

from hashlib import blake2b

from rebalance_agent.assignors import Plan, Promise, Roster, Strategy, whole_number
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["RENDEZVOUS", "SLACK"]

SLACK = whole_number(
    name="assignment.rendezvous.slack.percent",
    default=25,
    minimum=0,
    maximum=1000,
    meaning="percent of its share that a member may get in addition, for each topic; more slack moves fewer partitions",
    shared=True,
)


def rendezvous(roster: Roster) -> Plan:
    """Return the plan that gives each partition to the subscriber with the highest score that has room."""
    plan = roster.empty_plan()
    names = [member.instance_id or member.member_id for member in roster.members]
    most = _most_by_topic(roster)
    for topic, count, subscribers, room in zip(roster.topics, roster.partitions, roster.subscribers, most, strict=True):
        given: dict[int, list[int]] = {}
        for number in range(count):
            with_room = [member for member in subscribers if len(given.get(member, ())) < room]
            owner = max(with_room, key=lambda member, number=number: _score(names[member], topic, number))
            given.setdefault(owner, []).append(number)
        for member, numbers in given.items():
            plan[member][topic] = tuple(numbers)
    return plan


def promise(roster: Roster) -> Promise:
    """Return the maximum number of partitions of each member, over all topics."""
    most = [0] * len(roster.members)
    for subscribers, room in zip(roster.subscribers, _most_by_topic(roster), strict=True):
        for member in subscribers:
            most[member] += room
    return Promise.at_most(most)


def _most_by_topic(roster: Roster) -> list[int]:
    """Return, by topic, the maximum number of its partitions per member, so that all subscribers together have room."""
    slack = roster.shared_by_all(SLACK)
    return [
        -(-count * (100 + slack) // (100 * len(subscribers)))  # rounded up
        for count, subscribers in zip(roster.partitions, roster.subscribers, strict=True)
    ]


def _score(name: str, topic: str, number: int) -> bytes:
    return blake2b(f"{topic}\0{number}\0{name}".encode(errors="surrogatepass"), digest_size=8).digest()


RENDEZVOUS = Strategy(
    name="rendezvous",
    protocol=RebalanceProtocol.EAGER,
    summary="static members get the same partitions after every restart; the slack limits a member's load",
    plan=rendezvous,
    promise=promise,
    config=(SLACK,),
    cooperative_form=True,
)
