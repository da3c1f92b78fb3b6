"""Tracks the owners of partitions, and records the stalls of partitions without an owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.testing.simulation.timeline import SimulatedHandover, SimulatedStall

__all__ = ["StalledPartitions", "minus"]

_Stop = tuple[int, str | None]  # when the last owner stopped, and its name


class StalledPartitions:
    """Owners and stalls of all partitions. A partition with several owners stalls when the last owner stops."""

    def __init__(self) -> None:
        """Start without partitions."""
        self.stalls: list[SimulatedStall] = []
        self.handovers: list[SimulatedHandover] = []
        self._owners: dict[str, dict[int, int]] = {}
        self._idle: dict[str, dict[int, _Stop]] = {}

    def stopped(self, now_ms: int, member: str, partitions: TopicPartitions) -> None:
        """Record that ``member`` has stopped processing ``partitions``."""
        if not partitions:
            return
        self.handovers.append(SimulatedHandover(now_ms, member, took=False, partitions=partitions))
        for topic, numbers in partitions.items():
            owners, idle = self._owners[topic], self._idle.setdefault(topic, {})
            for number in numbers:
                owners[number] -= 1
                if not owners[number]:
                    idle[number] = (now_ms, member)

    def resumed(self, now_ms: int, member: str, partitions: TopicPartitions) -> None:
        """Record that ``member`` starts processing ``partitions``."""
        if not partitions:
            return
        self.handovers.append(SimulatedHandover(now_ms, member, took=True, partitions=partitions))
        ended: list[tuple[str, int, _Stop]] = []
        for topic, numbers in partitions.items():
            owners, idle = self._owners.setdefault(topic, {}), self._idle.get(topic, {})
            for number in numbers:
                owners[number] = owners.get(number, 0) + 1
                if number in idle:
                    ended.append((topic, number, idle.pop(number)))
        self._end(now_ms, ended, member)

    def planned(self, now_ms: int, since_ms: int, plans: Iterable[TopicPartitions]) -> None:
        """Record that a generation assigns only the partitions in ``plans``; new ones stall from ``since_ms`` on."""
        assigned: dict[str, set[int]] = {}
        for plan in plans:
            for topic, numbers in plan.items():
                assigned.setdefault(topic, set()).update(numbers)
        for topic, planned in assigned.items():
            owners, idle = self._owners.setdefault(topic, {}), self._idle.setdefault(topic, {})
            # With an entry in ``owners``, they are not new in later generations.
            new = planned - owners.keys()
            owners.update(dict.fromkeys(new, 0))
            idle.update(dict.fromkeys(new, (since_ms, None)))
        self._drop(now_ms, assigned)

    def emptied(self, now_ms: int) -> None:
        """End open stalls, because the group is empty: no rebalance causes them any more."""
        self._drop(now_ms, {})
        self._owners.clear()

    def close(self) -> None:
        """Record the stalls that have not ended."""
        self._end(None, [(topic, number, stop) for topic in self._idle for number, stop in self._idle[topic].items()])

    def _drop(self, now_ms: int, assigned: Mapping[str, set[int]]) -> None:
        ended: list[tuple[str, int, _Stop]] = []
        for topic, idle in self._idle.items():
            for number in sorted(idle.keys() - assigned.get(topic, ())):
                ended.append((topic, number, idle.pop(number)))
                self._owners[topic].pop(number, None)
        self._end(now_ms, ended)

    def _end(self, now_ms: int | None, ended: Iterable[tuple[str, int, _Stop]], next_owner: str | None = None) -> None:
        by_stop: dict[_Stop, dict[str, list[int]]] = {}
        for topic, number, stop in ended:
            if stop[0] != now_ms:
                by_stop.setdefault(stop, {}).setdefault(topic, []).append(number)
        for (since_ms, owner), topics in by_stop.items():
            partitions = {topic: tuple(sorted(topics[topic])) for topic in sorted(topics)}
            self.stalls.append(SimulatedStall(partitions, since_ms, now_ms, owner, next_owner))


def minus(these: TopicPartitions, those: TopicPartitions) -> TopicPartitions:
    """Return the partitions in ``these`` that are not in ``those``."""
    left: dict[str, tuple[int, ...]] = {}
    for topic, numbers in these.items():
        taken = those.get(topic, ())
        if taken != numbers:
            without = set(taken)
            if kept := tuple(number for number in numbers if number not in without):
                left[topic] = kept
    return left
