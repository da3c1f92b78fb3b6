"""Who works on what, and which partitions nobody works on: the stalls, as they come to their end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.testing.simulation.timeline import SimulatedHandover, SimulatedStall

__all__ = ["StalledPartitions", "minus"]

_Stop = tuple[int, str | None]  # since when nobody works on it, and who did before


class StalledPartitions:
    """Keeps account of every partition. A redundant strategy's partition stalls when its last owner stops."""

    def __init__(self) -> None:
        """Nobody works on anything."""
        self.stalls: list[SimulatedStall] = []
        self.handovers: list[SimulatedHandover] = []
        self._owners: dict[str, dict[int, int]] = {}
        self._idle: dict[str, dict[int, _Stop]] = {}

    def stopped(self, now_ms: int, member: str, partitions: TopicPartitions) -> None:
        """``member``, which worked on these, does so no more."""
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
        """``member`` works on these from now on."""
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
        """A generation gives out these partitions and no others; new ones among them wait since ``since_ms``."""
        wanted: dict[str, set[int]] = {}
        for plan in plans:
            for topic, numbers in plan.items():
                wanted.setdefault(topic, set()).update(numbers)
        for topic, known in wanted.items():
            owners, idle = self._owners.setdefault(topic, {}), self._idle.setdefault(topic, {})
            # From now on they are known, and not new again when they change hands.
            new = known - owners.keys()
            owners.update(dict.fromkeys(new, 0))
            idle.update(dict.fromkeys(new, (since_ms, None)))
        self._drop(now_ms, wanted)

    def nobody(self, now_ms: int) -> None:
        """The group is empty: what stands still now is not held up by a rebalance."""
        self._drop(now_ms, {})
        self._owners.clear()

    def close(self) -> None:
        """Add what still stands still."""
        self._end(None, [(topic, number, stop) for topic in self._idle for number, stop in self._idle[topic].items()])

    def _drop(self, now_ms: int, wanted: Mapping[str, set[int]]) -> None:
        ended: list[tuple[str, int, _Stop]] = []
        for topic, idle in self._idle.items():
            unwanted = idle.keys() - wanted.get(topic, ())
            for number in sorted(unwanted):
                ended.append((topic, number, idle.pop(number)))
                self._owners[topic].pop(number, None)
        self._end(now_ms, ended)

    def _end(self, now_ms: int | None, ended: Iterable[tuple[str, int, _Stop]], next_owner: str | None = None) -> None:
        together: dict[_Stop, dict[str, list[int]]] = {}
        for topic, number, stop in ended:
            if stop[0] != now_ms:
                together.setdefault(stop, {}).setdefault(topic, []).append(number)
        for (since_ms, owner), topics in together.items():
            partitions = {topic: tuple(sorted(topics[topic])) for topic in sorted(topics)}
            self.stalls.append(SimulatedStall(partitions, since_ms, now_ms, owner, next_owner))


def minus(these: TopicPartitions, those: TopicPartitions) -> TopicPartitions:
    """The partitions of ``these`` that are not among ``those``."""
    left: dict[str, tuple[int, ...]] = {}
    for topic, numbers in these.items():
        taken = those.get(topic, ())
        if taken != numbers:
            without = set(taken)
            if kept := tuple(number for number in numbers if number not in without):
                left[topic] = kept
    return left
