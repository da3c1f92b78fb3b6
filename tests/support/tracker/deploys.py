"""A group with given joins and leaves of members, one generation for each step. Times are seconds."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.tracking.observations import MemberReported
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.tracking import assigned, listed, member, record, tick

PARTITIONS = 12


class Group:
    """Members by name; `step` writes a generation with the current members."""

    def __init__(self, *names, at=0, static=False, client="orders-{name}"):
        self.tracker = Tracker("cluster", settle_ms=5_000)
        self.reported = []
        self.events = []
        self.at = at
        self.there = {}
        self._static = static
        self._client = client
        self._generation = 0
        self._incarnations = {}
        for name in names:
            self._come(name)
        self._write()

    def step(self, seconds, come=(), gone=()):
        """After ``seconds`` some members join and some leave in one rebalance."""
        self.wait(seconds)
        for name in gone:
            del self.there[name]
        for name in come:
            self._come(name)
        self._write()

    def restart(self, name, seconds, away=20):
        """After ``seconds`` a member leaves; its successor joins ``away`` seconds later."""
        self.step(seconds, gone=[name])
        self.step(away, come=[name])

    def blip(self, name, seconds, away=20):
        """After ``seconds`` a member leaves and rejoins with the same id, as in newer protocols."""
        member_id = self.there[name]
        self.step(seconds, gone=[name])
        self.wait(away)
        self.there[name] = member_id
        self._write()

    def abort(self):
        """Begin a generation that never completes: its number will be missing."""
        self._generation += 1

    def wait(self, seconds):
        """No records for some time; the tracker gets ticks."""
        end = self.at + seconds
        while self.at < end:
            self.at = min(end, self.at + 10)
            self._observe(tick(self.at * 1_000))

    def runs(self, name, image, workload="orders", process=None):
        """The member's sidecar reports its pod and node."""
        at_ms = self.at * 1_000 + 900
        reported = assigned(self.there[name], at_ms, at_ms, self._generation, [0])
        where = Workload(f"pod-{name}", "node", workload, image)
        process = process or f"process-{self.there[name]}"
        self._observe(MemberReported(reported.at_ms, replace(reported.event, where=where, process=process)))

    def _come(self, name):
        self._incarnations[name] = self._incarnations.get(name, 0) + 1
        self.there[name] = f"{name}-{self._incarnations[name]}"

    def _write(self):
        self._generation += 1
        names = sorted(self.there)
        members = [
            member(
                self.there[name],
                range(place, PARTITIONS, len(names)),
                instance=f"instance-{name}" if self._static else None,
                client=self._client.format(name=name),
            )
            for place, name in enumerate(names)
        ]
        at_ms = self.at * 1_000
        self._observe(listed(at_ms + 10))
        self._observe(listed(at_ms + 100, "g"))
        self._observe(record(at_ms + 500, self._generation, *members))

    def _observe(self, observation):
        self.reported.append(observation)
        self.events += self.tracker.observe(observation)

    @property
    def view(self):
        return self.tracker.view("g")

    @property
    def rollouts(self):
        """The last revision of each rollout, in order."""
        last = {event.event_id: event for event in self.events if isinstance(event, RolloutEvent)}
        return list(last.values())
