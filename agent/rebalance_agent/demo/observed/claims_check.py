"""Compares what the agent reports with the coordinator's state and with the timetable. Pure.

Every difference is one line of text; no lines mean no difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_agent.demo.stories import Expected, SlowDown
from rebalance_agent.model.episode import Basis, Trigger
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.partitions import TopicPartitions, pairs, to_ranges, topic_partitions

__all__ = [
    "SLOW_MARGIN_SECONDS",
    "Claim",
    "CoordinatorView",
    "SeenEpisode",
    "SeenStep",
    "counts_text",
    "group_differences",
    "step_differences",
    "strategy_differences",
]

SLOW_MARGIN_SECONDS = 1.0
"""Seconds by which a slow consumer's stall may exceed its delay: a heartbeat, a join and a sync."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the agent reports of a group: its newest ``generation`` event, and the observer's gauges.

    ``assignment``: member id -> partitions; ``clients``: member id -> client id; ``gauge_owned``: client id -> number
    of partitions.
    """

    generation: int | None
    protocol: str | None
    assignment: Mapping[str, TopicPartitions]
    clients: Mapping[str, str] = field(default_factory=dict)
    gauge_generation: int | None = None
    gauge_members: int | None = None
    gauge_owned: Mapping[str, int] = field(default_factory=dict)
    group_type: GroupType | None = None


@dataclass(frozen=True, slots=True)
class CoordinatorView:
    """What the coordinator reports of a group: its log, as Kafka's formatter prints it, and DescribeGroups.

    ``clients``: member id -> client id, from the log; ``assignment``: member id -> partitions, from DescribeGroups.
    """

    generation: int | None
    protocol: str | None
    clients: Mapping[str, str]
    state: str
    described_protocol: str | None
    assignment: Mapping[str, TopicPartitions]


@dataclass(frozen=True, slots=True)
class SeenEpisode:
    """One episode, from its closing event. ``partitions``: client id -> number of partitions after the episode."""

    group: str
    trigger: Trigger
    generation: int
    causes: tuple[Trigger, ...] = ()
    stall_seconds: float | None = None
    basis: Basis | None = None
    slowest_client_id: str | None = None
    partitions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SeenStep:
    """A step of the timetable, the episodes ``expected`` and ``seen``, and the ``problem`` if it did not run."""

    name: str
    expected: tuple[Expected, ...]
    seen: tuple[SeenEpisode, ...]
    slow: SlowDown | None = None
    problem: str = ""


def group_differences(claim: Claim, words: CoordinatorView) -> list[str]:
    """Return the differences between the agent's report and the coordinator's."""
    facts = (
        ("state", "Stable", words.state),
        ("generation in the events", claim.generation, words.generation),
        ("generation on /metrics", claim.gauge_generation, words.generation),
        ("protocol", claim.protocol, words.protocol),
        ("protocol", claim.protocol, words.described_protocol),
        ("number of members on /metrics", claim.gauge_members, len(words.clients)),
    )
    lines = [f"{what}: ours is {ours}, the coordinator's {theirs}" for what, ours, theirs in facts if ours != theirs]
    lines += _member_differences(claim.clients, words.clients)
    lines += _assignment_differences(claim, words)
    return list(dict.fromkeys(lines))


def strategy_differences(assignor: str, words: CoordinatorView) -> list[str]:
    """Return a line if the group does not run the story's ``assignor``, as without effective gateways."""
    if words.protocol == assignor:
        return []
    return [f"assignor: the story's is {assignor}, the coordinator's {words.protocol}"]


def _member_differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    lines = [f"member {theirs[each]} ({each}) is missing in ours" for each in sorted(theirs.keys() - ours.keys())]
    lines += [f"member {ours[each]} ({each}) is only in ours" for each in sorted(ours.keys() - theirs.keys())]
    lines += [
        f"client id of {each}: ours is {ours[each]}, the coordinator's {theirs[each]}"
        for each in sorted(ours.keys() & theirs.keys())
        if ours[each] != theirs[each]
    ]
    return lines


def _assignment_differences(claim: Claim, words: CoordinatorView) -> list[str]:
    lines = []
    owned: Counter[str] = Counter()
    for member in sorted(claim.assignment.keys() | words.assignment.keys()):
        name = words.clients.get(member) or claim.clients.get(member) or member
        ours, theirs = pairs(claim.assignment.get(member, {})), pairs(words.assignment.get(member, {}))
        owned[name] += len(theirs)
        if ours - theirs:
            lines.append(f"partitions of {name} that only ours has: {_text(ours - theirs)}")
        if theirs - ours:
            lines.append(f"partitions of {name} that ours lacks: {_text(theirs - ours)}")
    for name, count in sorted(owned.items()):
        gauge = claim.gauge_owned.get(name, 0)
        if gauge != count:
            lines.append(f"partitions of {name} on /metrics: ours are {gauge}, the coordinator's {count}")
    return lines


def _text(partitions: set[tuple[str, int]]) -> str:
    return ", ".join(f"{topic} {to_ranges(numbers)}" for topic, numbers in topic_partitions(partitions).items())


def step_differences(step: SeenStep) -> list[str]:
    """Return the differences between the episodes expected and seen; for a slow consumer also of stall and delay."""
    if step.problem:
        return [step.problem]
    lines = []
    for expected in step.expected:
        seen = [episode for episode in step.seen if episode.group == expected.group]
        if [episode.trigger for episode in seen] != [expected.trigger]:
            triggers = ", ".join(f"{episode.trigger} (generation {episode.generation})" for episode in seen)
            lines.append(f"{expected.group}: expected one episode {expected.trigger}, seen: {triggers or 'none'}")
        elif expected.partitions and expected.partitions != seen[0].partitions:
            ours, theirs = counts_text(seen[0].partitions), counts_text(expected.partitions)
            lines.append(f"{expected.group}: expected partitions {theirs}, seen: {ours or 'none'}")
        elif step.slow is not None and step.slow.group == expected.group:
            lines += _slow_differences(step.slow, seen)
    return lines


def counts_text(counts: Mapping[str, int]) -> str:
    """Return counts by client id as text, such as ``one=2 two=1``."""
    return " ".join(f"{client}={count}" for client, count in sorted(counts.items()))


def _slow_differences(slow: SlowDown, seen: Sequence[SeenEpisode]) -> list[str]:
    (episode,) = seen
    lines = []
    longest = slow.seconds + SLOW_MARGIN_SECONDS
    if episode.stall_seconds is None or not slow.seconds <= episode.stall_seconds <= longest:
        text = "unknown" if episode.stall_seconds is None else f"{episode.stall_seconds:.3f} s"
        lines.append(f"{slow.group}: the slow consumer's stall is {text}, not {slow.seconds:g} to {longest:g} s")
    if episode.basis is not Basis.EXACT:
        lines.append(f"{slow.group}: the slow consumer's stall is not exact but {episode.basis}")
    if episode.slowest_client_id != slow.client_id:
        lines.append(f"{slow.group}: the slowest member is {episode.slowest_client_id}, not {slow.client_id}")
    return lines
