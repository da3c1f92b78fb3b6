"""The results of a scenario's steps, compared with the expected episodes and with the members' measurements."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace

from support.scenarios.scenario_parts import Episode, Step
from support.scenarios.topic_records import plain

SILENT = ("share", "streams")
"""Clients whose members do not report their callbacks."""

TOLERANCE_S = 0.1
"""Tolerance in seconds between the observer and the members' measurements."""


@dataclass
class StepResult:
    """The result of one step: the events and callbacks in its time, and when the group was stable again."""

    step: Step
    started_ms: int
    stable_ms: int = 0
    events: list = field(default_factory=list)
    calls: list = field(default_factory=list)

    @property
    def closing(self):
        """The events that close an episode."""
        return [each for each in self.events if each["kind"] == "generation" and each["closes_episode"]]

    @property
    def episodes(self):
        """The published episodes in the form of the expected ones, without the optional one before."""
        episodes = tuple(map(_episode, self.closing))
        return episodes[1:] if episodes[:1] == (self.step.before,) else episodes

    def stalls(self):
        """The stall of each stopped partition, by its members' own callbacks."""
        stopped, found = {}, []
        for call in sorted(self.calls, key=lambda each: each.returned_ms):
            for partition in call.partitions:
                if call.kind != "assigned":
                    stopped.setdefault(partition, call.entered_ms)
                elif partition in stopped:
                    found.append(PartitionStall(partition, stopped.pop(partition), call.returned_ms))
        return found


@dataclass(frozen=True)
class PartitionStall:
    """The stall of a partition from the start of a callback to the end of the next owner's callback."""

    partition: tuple[str, int]
    from_ms: int
    until_ms: int

    @property
    def seconds(self):
        """The duration in seconds."""
        return (self.until_ms - self.from_ms) / 1000


def _episode(event):
    slowest = event.get("slowest_member_id")
    names = {each["member_id"]: plain(each["client_id"]) for each in event["members"]}
    return Episode(
        causes=tuple(event["causes"]),
        moved=event["moved"],
        generations=event["followups"] + 1,
        noop=event["noop"],
        slow=names.get(slowest, slowest),
    )


def compare_episodes(results):
    """(expected, published) episodes of a whole scenario, as lines; published ones without values that may differ."""
    expected, published = [], []
    for each in results:
        actions = ", ".join(map(str, each.step.actions))
        expected += [f"{actions}: {episode}" for episode in each.step.episodes]
        for wanted, episode in itertools.zip_longest(each.step.episodes, each.episodes):
            if episode is not None:
                any_slowest = wanted is not None and wanted.slow is None
                published.append(f"{actions}: {replace(episode, slow=None) if any_slowest else episode}")
    return expected, published


def stall_differences(runner, scenario, results):
    """Published stalls of steps that differ from the members' measurements, as lines.

    If members do not report their callbacks, the records are used instead: how long a partition had no owner.

    Without reports to the sidecar, the upper bound must hold for the part of a stall in the coordinator's records: they
    contain a static member's temporary leave a little late, and no return of the new owner's callback.

    Busy brokers detect the end of a session late: the tolerance grows with the delay of their answers.
    """
    reported, compared = scenario.client not in SILENT, 0
    for each in results:
        stalls = each.stalls() if reported else runner.unowned(scenario, each)
        if not stalls:
            continue
        compared += 1
        stall = each.closing[-1]["stall"] if each.closing else {"basis": None, "lower_seconds": 0, "seconds": 0}
        bound = stall["basis"] == "bound"
        measured = max(one.seconds for one in stalls)
        recorded = max(runner.recorded(scenario, one).seconds for one in stalls) if bound and reported else measured
        late = runner.stillness.late_s(each.started_ms, each.stable_ms)
        tolerance = TOLERANCE_S if late <= TOLERANCE_S else TOLERANCE_S + late
        upper = stall.get("seconds", math.inf)  # unknown if members have no records to commit
        if not (stall["lower_seconds"] - tolerance <= measured and recorded <= upper + tolerance):
            seconds = f"measured {measured}, recorded {recorded}"
            yield f"{each.step.actions}: {seconds}, published {stall}, answers {late} s late"
    if not compared:
        yield "no partition stalled, so nothing was compared"
