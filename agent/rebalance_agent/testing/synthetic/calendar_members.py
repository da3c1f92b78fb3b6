"""Makes the members of a synthetic group over time: their processes, hosts and pods."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.testing.simulation import SimulatedMember
from rebalance_agent.testing.synthetic.fleet_plan import GroupPlan
from rebalance_agent.testing.synthetic.hourly_load import load_at

__all__ = ["NODES", "CalendarMembers", "PlannedMember"]

NODES = tuple(f"node-{number:02}" for number in range(24))
"""The nodes on which members run."""

_POD_TEMPLATE_HASH = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")
"""Hexadecimal digits -> letters that Kubernetes uses in pods' names."""

_KUBERNETES_HASH = str.maketrans("0123456789", "456789bcdf")
"""Decimal digit of a template's hash -> the character that Kubernetes writes (``SafeEncodeString``)."""

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes uses no vowels, so that no words can occur
_ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")


@dataclass(frozen=True, slots=True)
class PlannedMember:
    """A member's process: its behaviour, client id, host and workload. ``born_ms``: its start."""

    spec: SimulatedMember
    client_id: str
    host: str
    where: Workload
    born_ms: int

    @property
    def name(self) -> str:
        """The member's name in the script, with which its member id begins."""
        return self.spec.name


class CalendarMembers:
    """Makes members, and keeps them as long as records of the group may name them."""

    def __init__(self, plan: GroupPlan, rng: random.Random) -> None:
        """Start without members."""
        self._plan = plan
        self._rng = rng
        self._present: dict[str, PlannedMember] = {}
        self._gone_ms: dict[str, int] = {}
        self._known: dict[str, list[PlannedMember]] = {}
        self.release = 1

    def __len__(self) -> int:
        """Number of present members."""
        return len(self._present)

    def __iter__(self) -> Iterator[PlannedMember]:
        """The present members, oldest first. Members may start and end during the iteration."""
        return iter(list(self._present.values()))

    def at(self, at_ms: int, name: str) -> PlannedMember:
        """Return the process with ``name`` at ``at_ms``, which may be before the last step of the calendar."""
        processes = self._known[name]
        return next((process for process in reversed(processes) if process.born_ms <= at_ms), processes[0])

    def choose(self) -> PlannedMember:
        """Return a random present member."""
        return self._rng.choice(list(self._present.values()))

    def start(self, at_ms: int, name: str | None = None, processing_ms: int | None = None) -> PlannedMember:
        """Start a new member, or a new process of the member ``name``."""
        plan = self._plan
        number = next(
            ordinal for ordinal in range(len(self._present) + 1) if self._ordinal(ordinal) not in self._present
        )
        if name is None:
            name = self._ordinal(number) if plan.static else self._new_name(number)
        slow = plan.slow_ms and all(member.spec.processing_ms < plan.slow_ms for member in self)
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
            # Only rack-aware strategies need a rack; no event contains the racks of partitions.
            rack=self._rng.choice(_ZONES) if "rack-aware" in plan.assignor else None,
            config=plan.weights if number == 0 else {},
        )
        planned = self._present[name] = self._planned_member(spec, name, at_ms)
        self._known.setdefault(name, []).append(planned)
        self._gone_ms.pop(name, None)
        return planned

    def end(self, at_ms: int, name: str) -> None:
        """End the process of the member ``name``."""
        del self._present[name]
        self._gone_ms[name] = at_ms

    def forget(self, until_ms: int) -> None:
        """Drop processes that ended before ``until_ms``, because later records do not name them."""
        for name in [name for name, gone_ms in self._gone_ms.items() if gone_ms < until_ms]:
            del self._gone_ms[name], self._known[name]
        for processes in self._known.values():
            while len(processes) > 1 and processes[1].born_ms < until_ms:
                del processes[0]

    def _ordinal(self, number: int) -> str:
        return f"{self._plan.name}-{number}"

    def _new_name(self, number: int) -> str:
        if not self._plan.pods:
            return f"consumer-{self._plan.name}-{number + 1}-{self._letters(8)}"
        if self._plan.kubernetes_hashes:
            template = f"{self.release:04}{self._plan.number % 10_000:04}".translate(_KUBERNETES_HASH)
        else:
            template = f"{self.release:04x}{self._plan.number % 0xFFFF:04x}".translate(_POD_TEMPLATE_HASH)
        return f"{self._plan.name}-{template}-{self._letters(5)}"

    def _planned_member(self, spec: SimulatedMember, name: str, at_ms: int) -> PlannedMember:
        workload = self._plan.name
        pod = name if self._plan.pods else f"{workload}-{name.rpartition('-')[2]}"
        processes = self._known.get(name)
        if processes and not self._plan.static:  # a restarted container stays on its node
            host, node = processes[-1].host, processes[-1].where.node
        else:
            host = f"/10.{self._rng.randrange(16, 32)}.{self._rng.randrange(256)}.{self._rng.randrange(1, 255)}"
            node = NODES[self._rng.randrange(len(NODES))]
        where = Workload(pod, node, workload, f"registry.example/{workload}:1.{self.release}.0")
        client_id = name if self._plan.pods else f"consumer-{self._plan.name}-1"
        return PlannedMember(spec, client_id, host, where, at_ms)

    def _letters(self, count: int) -> str:
        return "".join(self._rng.choices(_LETTERS, k=count))
