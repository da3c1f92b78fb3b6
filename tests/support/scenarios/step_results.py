"""The result of a scenario, with the expectations of its table and its members' measurements."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace

from support.scenarios.scenario_parts import Act, Episode
from support.scenarios.topic_records import plain

SILENT = ("share", "streams")
"""Clients whose members do not report their callbacks."""

TOLERANCE_S = 0.1
"""How far the observer may be from what the members measured."""


@dataclass
class Played:
    """The result of one act: the events and callbacks of its time, and the stable group at its end."""

    act: Act
    started_ms: int
    rested_ms: int = 0
    events: list = field(default_factory=list)
    calls: list = field(default_factory=list)

    @property
    def closing(self):
        """The events that close an episode."""
        return [each for each in self.events if each["kind"] == "generation" and each["closes_episode"]]

    @property
    def episodes(self):
        """The published episodes in the table's terms, without the values that the act leaves open."""
        episodes = tuple(map(_episode, self.closing))
        return episodes[1:] if episodes[:1] == (self.act.before,) else episodes

    def standstills(self):
        """The stall of each stopped partition, by its members' own callbacks."""
        stopped, found = {}, []
        for call in sorted(self.calls, key=lambda each: each.returned_ms):
            for partition in call.partitions:
                if call.kind != "assigned":
                    stopped.setdefault(partition, call.entered_ms)
                elif partition in stopped:
                    found.append(Standstill(partition, stopped.pop(partition), call.returned_ms))
        return found


@dataclass(frozen=True)
class Standstill:
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


def compared(played):
    """(expected, published without optional values) of a whole scenario, as lines."""
    expected, published = [], []
    for each in played:
        steps = ", ".join(map(str, each.act.steps))
        expected += [f"{steps}: {episode}" for episode in each.act.episodes]
        for wanted, episode in itertools.zip_longest(each.act.episodes, each.episodes):
            if episode is not None:
                open_ = wanted is not None and wanted.slow is None
                published.append(f"{steps}: {replace(episode, slow=None) if open_ else episode}")
    return expected, published


def misjudged(stage, scenario, played):
    """Published stalls of an act that differ from its members' measurements, as lines.

    Where members do not report their callbacks, the records stand in: how long nobody had a partition.

    Where nobody reports, the upper bound must hold for what the coordinator can know: it learns a little late
    that a static member goes for a while, and not when the client of the new owner has called it.

    Brokers that have no time to answer have none to see a session's end either: so much later may it be seen.
    """
    reported, compared = scenario.client not in SILENT, 0
    for each in played:
        standstills = each.standstills() if reported else stage.unheld(scenario, each)
        if not standstills:
            continue
        compared += 1
        stall = each.closing[-1]["stall"] if each.closing else {"basis": None, "lower_seconds": 0, "seconds": 0}
        bound = stall["basis"] == "bound"
        measured = max(one.seconds for one in standstills)
        known = max(stage.known(scenario, one).seconds for one in standstills) if bound and reported else measured
        late = stage.stillness.late_s(each.started_ms, each.rested_ms)
        tolerance = TOLERANCE_S if late <= TOLERANCE_S else TOLERANCE_S + late
        upper = stall.get("seconds", math.inf)  # unknown where members have nothing to commit
        if not (stall["lower_seconds"] - tolerance <= measured and known <= upper + tolerance):
            yield f"{each.act.steps}: measured {measured}, {known} known, published {stall}, answers {late} s late"
    if not compared:
        yield "nothing stood still, so nothing was compared"
