"""Partitions with two owners: the tracker's count compared with a simulated group."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.model.events import Callback
from support.tracker.tracking import T0, feed, member, record, said, topics, watch

PARTITIONS = 6
LATE_MS = 4_000_000
"""Everything is read so late that reports from clocks far ahead are accepted."""


@dataclass
class Process:
    """A member's process. Its clock is ``ahead`` of the coordinator's by so many ms, and gains ``ppm``."""

    name: str
    ahead: int
    ppm: int
    holds: dict[int, int] = field(default_factory=dict)

    def clock(self, at):
        """Its time at ``at``."""
        return at + self.ahead + at * self.ppm // 1_000_000


@dataclass
class Simulation:
    """Records and reports as they are read, and how long partitions truly had two owners (ms)."""

    observed: list = field(default_factory=list)
    owners: list = field(default_factory=list)
    ends: list = field(default_factory=list)

    def report(self, process, callback, at, generation, partitions, delay):
        """A callback that was entered at ``at``; ``delay`` None: its report is lost."""
        if delay is not None and partitions:
            started = process.clock(at)
            received = LATE_MS + at + delay
            one = said(callback, process.name, started, started, generation, partitions, received=received)
            self.observed.append((received, one))

    def written(self, at, generation, assignment, delay):
        """A record."""
        self.owners.append((at, {number: name for name, numbers in assignment.items() for number in numbers}))
        members = [member(name, numbers) for name, numbers in assignment.items()]
        one = record(at, generation, *members)
        self.observed.append((LATE_MS + at + delay, replace(one, seen_ms=T0 + LATE_MS + at + delay)))

    @property
    def doubly_ms(self):
        """The time for which members held partitions that others owned by the record."""
        total = 0
        until = [*(at for at, _ in self.owners[1:]), 1 << 40]
        for name, number, since, stopped in self.ends:
            for (at, owned), end in zip(self.owners, until, strict=True):
                if owned.get(number, name) != name:
                    total += max(0, min(end, stopped) - max(at, since))
        return total

    def counted_ms(self):
        """The tracker's count."""
        tracker, _ = watch(topics(0, t=PARTITIONS))
        for _, each in sorted(self.observed, key=lambda one: one[0]):
            feed(tracker, each)
        tracker_view = tracker.view("g")
        return round((tracker_view.counters.doubly_owned_partition_seconds or 0.0) * 1000)


@st.composite
def simulated(draw, *, exact=False):
    """An eager group whose members leave, crash, or are removed while suspended."""
    late = st.just(0) if exact else st.none() | st.integers(0, 30_000)
    behind = st.just(0) if exact else st.integers(0, 2_000)
    simulation, at, present, born = Simulation(), 1_000, [], 0
    for generation in range(1, draw(st.integers(2, 6)) + 1):
        for process in list(present):
            how = draw(st.sampled_from(["stays", "stays", "leaves", "crashes", "is removed"]))
            stopped = at - draw(st.integers(1, 900))
            if how in ("leaves", "stays"):
                simulation.report(process, Callback.REVOKED, stopped, generation - 1, tuple(process.holds), draw(late))
            if how == "is removed":
                stopped = at + draw(st.integers(-900, 200_000))
                callback = draw(st.sampled_from([Callback.LOST, Callback.REVOKED]))
                simulation.report(process, callback, stopped, generation - 1, tuple(process.holds), draw(late))
                simulation.ends += [(process.name, number, since, stopped) for number, since in process.holds.items()]
            if how != "stays":
                present.remove(process)
        for _ in range(draw(st.integers(0, 2))):
            ahead = 0 if exact else draw(st.sampled_from([0, 3]) | st.integers(-3_600_000, 3_600_000))
            present.append(Process(f"m{born}", ahead, 0 if exact else draw(st.integers(-90, 90))))
            born += 1
        shares = {process.name: tuple(range(index, PARTITIONS, len(present))) for index, process in enumerate(present)}
        simulation.written(at, generation, shares, draw(behind))
        for process in present:
            got = at + (0 if exact else draw(st.integers(0, 5_000)))
            process.holds = dict.fromkeys(shares[process.name], got)
            simulation.report(process, Callback.ASSIGNED, got, generation, shares[process.name], draw(late))
        at += draw(st.integers(10_000, 100_000))
    return simulation


@given(simulated())
def test_the_count_never_exceeds_the_real_time(simulation):
    """With wrong clocks, lost and late reports, and records that are read after reports."""
    assert simulation.counted_ms() <= simulation.doubly_ms


@given(simulated(exact=True))
def test_everything_is_counted_if_reported_at_once(simulation):
    held = max((stopped - since for _, _, since, stopped in simulation.ends), default=0)
    missed = len(simulation.ends) * (held // 10_000 + 1)
    assert simulation.doubly_ms - missed <= simulation.counted_ms() <= simulation.doubly_ms
