"""The members of a group as its calendar knows them: who is there, and where each runs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from rebalance_agent.model.events import Workload
from rebalance_agent.model.group import GroupType
from rebalance_agent.testing.simulation import SimulatedMember
from rebalance_agent.testing.synthetic.fleet_plan import GroupPlan
from rebalance_agent.testing.synthetic.hourly_load import load_at

__all__ = ["CalendarMembers", "Person"]

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes' own: without vowels there are no words
_ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
_NODES = 24


@dataclass(frozen=True, slots=True)
class Person:
    """A member's process: how it behaves, and what is known of it. ``born_ms``: when it was started."""

    spec: SimulatedMember
    client_id: str
    host: str
    where: Workload
    born_ms: int

    @property
    def name(self) -> str:
        """Its name in the script, which begins its member id."""
        return self.spec.name


class CalendarMembers:
    """Makes members, and remembers them for as long as the group's records may speak of them."""

    def __init__(self, plan: GroupPlan, rng: random.Random) -> None:
        """Nobody is there."""
        self._plan = plan
        self._rng = rng
        self._present: dict[str, Person] = {}
        self._gone_ms: dict[str, int] = {}
        self._known: dict[str, list[Person]] = {}
        self.release = 1

    def __len__(self) -> int:
        """How many are there."""
        return len(self._present)

    def __iter__(self) -> Iterator[Person]:
        """Those that are there, the oldest first; they may come and go meanwhile."""
        return iter(list(self._present.values()))

    def at(self, at_ms: int, name: str) -> Person:
        """The process that had that name then: a calendar is ahead of what is told of it."""
        lives = self._known[name]
        return next((each for each in reversed(lives) if each.born_ms <= at_ms), lives[0])

    def choose(self) -> Person:
        """One of those that are there."""
        return self._rng.choice(list(self._present.values()))

    def start(self, at_ms: int, name: str | None = None, processing_ms: int | None = None) -> Person:
        """A process starts: a new one, or again the one that was called ``name``."""
        plan = self._plan
        number = next(each for each in range(len(self._present) + 1) if self._place(each) not in self._present)
        if name is None:
            name = self._place(number) if plan.static else self._new_name(number)
        slow = plan.slow_ms and all(each.spec.processing_ms < plan.slow_ms for each in self)
        work_ms = round(plan.processing_ms * load_at(at_ms) * self._rng.uniform(0.7, 1.6))
        spec = SimulatedMember(
            name=name,
            topics=tuple(plan.topics),
            strategies=(plan.assignor if plan.group_type is GroupType.CLASSIC else "range",),
            instance_id=name if plan.static else None,
            processing_ms=processing_ms or (plan.slow_ms if slow else work_ms),
            revoked_ms=round(plan.revoked_ms * self._rng.uniform(0.6, 1.8)),
            assigned_ms=round(plan.assigned_ms * self._rng.uniform(0.6, 1.8)),
            session_timeout_ms=plan.session_timeout_ms,
            rebalance_timeout_ms=plan.poll_interval_ms,
            # Members that say racks need partitions whose racks are known, which no event tells.
            rack=self._rng.choice(_ZONES) if "rack-aware" in plan.assignor else None,
            config=plan.weights if number == 0 else {},
        )
        person = self._present[name] = self._person(spec, name, at_ms)
        self._known.setdefault(name, []).append(person)
        self._gone_ms.pop(name, None)
        return person

    def end(self, at_ms: int, name: str) -> None:
        """A process ends."""
        del self._present[name]
        self._gone_ms[name] = at_ms

    def forget(self, until_ms: int) -> None:
        """Those that ended before then are in no record any more."""
        for name in [name for name, gone_ms in self._gone_ms.items() if gone_ms < until_ms]:
            del self._gone_ms[name], self._known[name]
        for lives in self._known.values():
            while len(lives) > 1 and lives[1].born_ms < until_ms:
                del lives[0]

    def _place(self, number: int) -> str:
        return f"{self._plan.name}-{number}"

    def _new_name(self, number: int) -> str:
        if not self._plan.pods:
            return f"consumer-{self._plan.name}-{number + 1}-{self._letters(8)}"
        return f"{self._plan.name}-{self.release:04x}{self._plan.number % 0xFFFF:04x}-{self._letters(5)}"

    def _person(self, spec: SimulatedMember, name: str, at_ms: int) -> Person:
        workload = self._plan.name
        pod = name if self._plan.pods else f"{workload}-{name.rpartition('-')[2]}"
        lives = self._known.get(name)
        if lives and not self._plan.static:  # a container that starts again stays where it was
            host, node = lives[-1].host, lives[-1].where.node
        else:
            host = f"/10.{self._rng.randrange(16, 32)}.{self._rng.randrange(256)}.{self._rng.randrange(1, 255)}"
            node = f"node-{self._rng.randrange(_NODES):02}"
        where = Workload(pod, node, workload, f"registry.example/{workload}:1.{self.release}.0")
        client_id = name if self._plan.pods else f"consumer-{self._plan.name}-1"
        return Person(spec, client_id, host, where, at_ms)

    def _letters(self, count: int) -> str:
        return "".join(self._rng.choices(_LETTERS, k=count))
