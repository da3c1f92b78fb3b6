"""Histories that are known completely, with assignments by the library's strategies."""

from __future__ import annotations

import uuid
from dataclasses import replace

from rebalance_agent.assignors import STRATEGIES, judge
from rebalance_agent.model.episode import Basis, Evidence, Phases, Stall, Trigger
from rebalance_agent.model.events import MemberSnapshot
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.model.group_event import event_id
from rebalance_agent.model.partitions import count_partitions, pairs
from rebalance_agent.model.subscription import GroupAssignment, GroupSubscription, MemberSubscription, TopicMetadata
from support.observer.fakes import generation_event

START_MS = 1_700_000_000_000
MINUTE_MS = 60_000


def snapshot(member, assigned, **more):
    """A member of an assignor's input with its assignment, in the format of events."""
    return MemberSnapshot(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=more.pop("client_id", member.member_id),
        host="/10.0.0.1",
        topics=member.topics,
        owned={topic: numbers for topic, numbers in member.owned.items() if numbers},
        assigned=assigned,
        user_data=member.user_data,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=300_000,
        **more,
    )


def generation(number, members, topics, *, at_ms=None, seconds=1.0, **fields):
    """A generation of ``members`` whose join phase took ``seconds``."""
    at_ms = START_MS + number * MINUTE_MS if at_ms is None else at_ms
    usual = {
        "event_id": event_id("generation", "c", "g", GroupType.CLASSIC, number, at_ms),
        "timestamp_ms": at_ms,
        "generation": number,
        "previous_generation": number - 1,
        "episode_generation": number,
        "phases": Phases(at_ms, Evidence.RECORD, at_ms - round(seconds * 1000), Evidence.LIST, at_ms, Evidence.RECORD),
        "stall": Stall(seconds, seconds, seconds, Basis.BOUND),
        "members": tuple(members),
        "topics": dict(topics),
        "causes": (Trigger.MEMBER_JOINED,),
    }
    return generation_event(**{**usual, **fields})


def walked(walk, strategy, steps):
    """The events of a group that changes randomly under ``strategy``."""
    events, before = [], {}
    for number, stop in enumerate(walk.stops(strategy, steps), 1):
        given = stop.assignment.members
        now = {member.instance_id or member.member_id: given[member.member_id] for member in stop.reported.members}
        quality = judge(stop.reported, stop.assignment, strategy)
        events.append(
            generation(
                number,
                [snapshot(member, given[member.member_id]) for member in stop.reported.members],
                {name: topic.partitions for name, topic in stop.reported.topics.items() if topic.partitions},
                assignor=strategy.name,
                protocol=strategy.protocol,
                moved=moved(before, now),
                needed=None,
                skew_ratio=quality.skew_ratio,
                imbalance=quality.imbalance,
            )
        )
        before = now
    return events


def moved(before, after):
    """Partitions with another owner than before, among those with an owner before and after."""
    had = {partition: name for name, given in before.items() for partition in pairs(given)}
    has = {partition: name for name, given in after.items() for partition in pairs(given)}
    return sum(had[each] != has[each] for each in had.keys() & has.keys())


def without_hints(event):
    """The same generation without the members' owned partitions, as with Kafka's own eager members."""
    return replace(event, members=tuple(replace(each, owned={}) for each in event.members))


def on_hosts(name="roundrobin", *, hosts=4, each=3, topics=80, partitions=3, rebalances=1, late=0):
    """Consumers with the client id of their host subscribe to many topics; one of each host restarts at each rebalance.

    ``late``: number of consumers that join only in the second rebalance.
    """
    strategy, counts = STRATEGIES[name], {f"t{number:02}": partitions for number in range(topics)}
    places = [(host, place) for host in range(1, hosts + 1) for place in range(each)]
    events, had = [], {}
    for number in range(1, rebalances + 1):
        ids = {
            f"application{host:02}-{uuid.UUID(int=100 * host + place + (0 if place else 10 * number), version=4)}": host
            for host, place in (places if number > 1 else places[late:])
        }
        members = tuple(MemberSubscription(each, tuple(counts)) for each in ids)
        group = GroupSubscription({topic: TopicMetadata(count) for topic, count in counts.items()}, members)
        given = strategy.assign(group).members
        shown = [snapshot(each, given[each.member_id], client_id=each.member_id[:13]) for each in members]
        events.append(
            generation(
                number,
                [replace(each, host=f"/10.0.0.{ids[each.member_id]}") for each in shown],
                counts,
                assignor=name,
                protocol=strategy.protocol,
                previous_generation=number - 1 or None,
                stall=Stall(1.0, 1.0, topics * partitions, Basis.BOUND),
                moved=moved(had, given),
                needed=None,
                skew_ratio=1.0,
                imbalance=0,
            )
        )
        had = given
    return events


def clustered(rebalances=8, *, topics=4, name="range", stops=(0.2, 0.4), seconds=2.0, away_s=30):
    """Three members on topics with two partitions each; one member restarts repeatedly.

    Under range the third one has no partitions. ``stops``: seconds after which the two other members stop, in a
    rebalance of ``seconds``.
    """
    strategy = STRATEGIES[name]
    counts = {f"t{number}": 2 for number in range(topics)}
    events, had, at_ms = [], {}, START_MS
    for number in range(1, rebalances + 1):
        away = number % 2 == 0
        ids = ["m0-a", "m1-a", *([] if away else [f"m2-{number}"])]
        members = tuple(
            MemberSubscription(each, tuple(counts), None, had.get(each, {}), number - 1 if each in had else -1)
            for each in ids
        )
        group = GroupSubscription({topic: TopicMetadata(count) for topic, count in counts.items()}, members)
        assignment = strategy.assign(group)
        given = {key: dict(value) for key, value in assignment.target.items()}
        stood = sum(
            (seconds - stops[place]) * count_partitions(had.get(each, {}))
            for place, each in enumerate(ids[:2])
            if strategy.protocol is RebalanceProtocol.EAGER
        )
        quality = judge(group, GroupAssignment(given, given), strategy)
        events.append(
            generation(
                number,
                [
                    snapshot(
                        each,
                        given[each.member_id],
                        client_id=each.member_id[:2],
                        stop_seconds=None if number == 1 or place > 1 else stops[place],
                    )
                    for place, each in enumerate(members)
                ],
                counts,
                at_ms=at_ms,
                seconds=seconds,
                assignor=name,
                protocol=strategy.protocol,
                previous_generation=number - 1 or None,
                stall=Stall(seconds, seconds, stood, Basis.EXACT),
                causes=(Trigger.MEMBER_LEFT if away else Trigger.MEMBER_JOINED,),
                moved=moved(had, given),
                needed=moved(had, given) - quality.moved + quality.moved_min,
                skew_ratio=quality.skew_ratio,
                imbalance=quality.imbalance,
            )
        )
        had = given
        at_ms += (away_s if away else 600) * 1000
    return events
