"""Compares the agent's reports with the coordinator's state and with the scenario. Pure.

Every difference is one line of text; without differences there are no lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rebalance_agent.api.shapes import GroupSummary, HostSpreadSummary
from rebalance_agent.demo.observed.gauges import GroupGauges
from rebalance_agent.demo.scenario_types import DemoStep, Expected, SlowDown
from rebalance_agent.model.episode import Basis
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.partitions import TopicPartitions, count_partitions, pairs, to_ranges, topic_partitions

__all__ = [
    "SLOW_MARGIN_SECONDS",
    "CoordinatorView",
    "SeenStep",
    "counts_text",
    "expected_differences",
    "group_differences",
    "owned_counts",
    "slowest_client",
    "step_differences",
    "strategy_differences",
    "unchanged_differences",
]

SLOW_MARGIN_SECONDS = 1.0
"""Seconds by which a slow consumer's stall may exceed the consumer's delay: a heartbeat, a join and a sync."""


@dataclass(frozen=True, slots=True)
class CoordinatorView:
    """The coordinator's data about a group, from its log, printed with Kafka's formatter, and from DescribeGroups.

    ``clients``: member id -> client id, from the log; ``assignment``: member id -> partitions, from DescribeGroups.
    """

    generation: int | None
    protocol: str | None
    clients: Mapping[str, str]
    state: str
    described_protocol: str | None
    assignment: Mapping[str, TopicPartitions]


@dataclass(frozen=True, slots=True)
class SeenStep:
    """A step, its episodes' closing events that were ``seen``, and the ``problem`` if it did not run or had none.

    ``ended``: group -> summary of the group when the step was over.
    """

    step: DemoStep
    seen: tuple[GenerationEvent, ...]
    problem: str = ""
    ended: Mapping[str, GroupSummary] = field(default_factory=dict)

    def of(self, group: str) -> list[GenerationEvent]:
        """Return the closing events of the group's episodes."""
        return [event for event in self.seen if event.group == group]

    def host_spread(self, group: str) -> HostSpreadSummary | None:
        """Return the spread of the group's topics over hosts after the step; None if several hosts were impossible."""
        return self.ended[group].host_spread if group in self.ended else None


def slowest_client(event: GenerationEvent) -> str | None:
    """Return the client id of the slowest member of an episode; None if unknown."""
    clients = {member.member_id: member.client_id for member in event.members}
    return clients.get(event.slowest_member_id or "")


def owned_counts(event: GenerationEvent) -> dict[str, int]:
    """Return client id -> number of partitions after an episode."""
    counts: Counter[str] = Counter()
    for member in event.members:
        counts[member.client_id] += count_partitions(member.assigned)
    return dict(sorted(counts.items()))


def group_differences(event: GenerationEvent | None, gauges: GroupGauges, coordinator: CoordinatorView) -> list[str]:
    """Return the differences between a group's newest ``event``, its ``gauges`` and the ``coordinator``'s state."""
    members = event.members if event else ()
    clients = {member.member_id: member.client_id for member in members}
    protocol = event.assignor if event else None
    facts = (
        ("state", "Stable", coordinator.state),
        ("generation in the events", event.generation if event else None, coordinator.generation),
        ("generation on /metrics", gauges.generation, coordinator.generation),
        ("protocol", protocol, coordinator.protocol),
        ("protocol", protocol, coordinator.described_protocol),
        ("number of members on /metrics", gauges.members, len(coordinator.clients)),
    )
    lines = [
        f"{what}: the observer has {ours}, the coordinator {theirs}" for what, ours, theirs in facts if ours != theirs
    ]
    lines += _member_differences(clients, coordinator.clients)
    assignment = {member.member_id: member.assigned for member in members}
    lines += _assignment_differences(
        assignment, {**clients, **coordinator.clients}, coordinator.assignment, gauges.owned
    )
    return list(dict.fromkeys(lines))


def strategy_differences(assignor: str, coordinator: CoordinatorView) -> list[str]:
    """Return a line if the group does not use the scenario's ``assignor``, for example because of its gateways."""
    if coordinator.protocol == assignor:
        return []
    return [f"assignor: the scenario has {assignor}, the coordinator {coordinator.protocol}"]


def _member_differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    lines = [
        f"member {theirs[member_id]} ({member_id}) is only in the coordinator's state"
        for member_id in sorted(theirs.keys() - ours.keys())
    ]
    lines += [
        f"member {ours[member_id]} ({member_id}) is only in the observer's state"
        for member_id in sorted(ours.keys() - theirs.keys())
    ]
    lines += [
        f"client id of {member_id}: the observer has {ours[member_id]}, the coordinator {theirs[member_id]}"
        for member_id in sorted(ours.keys() & theirs.keys())
        if ours[member_id] != theirs[member_id]
    ]
    return lines


def _assignment_differences(
    assigned: Mapping[str, TopicPartitions],
    clients: Mapping[str, str],
    described: Mapping[str, TopicPartitions],
    gauges: Mapping[str, int],
) -> list[str]:
    lines = []
    counts_max: Counter[str] = Counter()
    for member in sorted(assigned.keys() | described.keys()):
        name = clients.get(member, member)
        ours, theirs = pairs(assigned.get(member, {})), pairs(described.get(member, {}))
        # The gauge is the maximum over the members with the same client id.
        counts_max[name] = max(counts_max[name], len(theirs))
        if ours - theirs:
            lines.append(f"partitions of {name} that only the observer has: {_text(ours - theirs)}")
        if theirs - ours:
            lines.append(f"partitions of {name} that only the coordinator has: {_text(theirs - ours)}")
    for name, count in sorted(counts_max.items()):
        gauge = gauges.get(name, 0)
        if gauge != count:
            lines.append(f"partitions of {name} on /metrics: the observer has {gauge}, the coordinator {count}")
    return lines


def _text(partitions: set[tuple[str, int]]) -> str:
    return ", ".join(f"{topic} {to_ranges(numbers)}" for topic, numbers in topic_partitions(partitions).items())


def step_differences(step: SeenStep) -> list[str]:
    """Return the differences between expected and seen episodes, and for a slow consumer between stall and delay."""
    lines = [line for expected in step.step.expected for line in expected_differences(step, expected)]
    lines += [line for group in step.step.unchanged for line in unchanged_differences(step, group)]
    return list(dict.fromkeys(lines))


def expected_differences(step: SeenStep, expected: Expected) -> list[str]:
    """Return the differences of one group in a step, or only the step's problem if it has one."""
    if step.problem:
        return [step.problem]
    seen = step.of(expected.group)
    slow = step.step.slow
    if [event.trigger for event in seen] != [expected.trigger]:
        return [f"{expected.group}: expected one episode {expected.trigger}, seen: {_triggers(seen) or 'none'}"]
    if expected.partitions and expected.partitions != owned_counts(seen[0]):
        ours, theirs = counts_text(owned_counts(seen[0])), counts_text(expected.partitions)
        return [f"{expected.group}: expected partitions {theirs}, seen: {ours or 'none'}"]
    if expected.on_one_host is not None:
        spread = step.host_spread(expected.group)
        on_one_host = spread.on_one_host if spread else None
        if on_one_host != expected.on_one_host:
            number = "unknown" if on_one_host is None else on_one_host
            return [f"{expected.group}: expected {expected.on_one_host} topics on one host, seen: {number}"]
    elif slow is not None and slow.group == expected.group:
        return _slow_differences(slow, seen[0])
    return []


def unchanged_differences(step: SeenStep, group: str) -> list[str]:
    """Return a line if a group that must not change had a rebalance, or only the step's problem if it has one."""
    if step.problem:
        return [step.problem]
    seen = step.of(group)
    return [f"{group}: expected no rebalance, seen: {_triggers(seen)}"] if seen else []


def _triggers(events: Iterable[GenerationEvent]) -> str:
    return ", ".join(f"{event.trigger} (generation {event.generation})" for event in events)


def counts_text(counts: Mapping[str, int]) -> str:
    """Return counts by client id as text, such as ``one=2 two=1``."""
    return " ".join(f"{client}={count}" for client, count in sorted(counts.items()))


def _slow_differences(slow: SlowDown, event: GenerationEvent) -> list[str]:
    lines = []
    longest, stall, slowest = slow.seconds + SLOW_MARGIN_SECONDS, event.stall, slowest_client(event)
    if stall is None or not slow.seconds <= stall.lower_seconds <= longest:
        text = "unknown" if stall is None else f"{stall.lower_seconds:.3f} s"
        lines.append(f"{slow.group}: the slow consumer's stall is {text}, not {slow.seconds:g} to {longest:g} s")
    if stall is not None and stall.basis is not Basis.EXACT:
        lines.append(f"{slow.group}: the slow consumer's stall is not exact, but {stall.basis}")
    if slowest != slow.member:
        lines.append(f"{slow.group}: the slowest member is {slowest}, not {slow.member}")
    return lines
