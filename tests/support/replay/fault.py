"""A planted fault, and functions to create one. Times are seconds since the start of the replay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from alerts.values import load, seconds

from support.replay.scraped_group import series_name
from support.replay.script import Script

__all__ = ["FROM", "LATE", "Fault", "counted", "labelled", "of_group", "of_series", "shown"]

FROM = 1020
"""Start of the faults: before it the groups are stable, and all counters are scraped at 0."""

LATE = 60
"""Tolerance in seconds for the firing and resolving of an alert after its ``for``: a scrape and two evaluations."""

VALUES = load().alerts


@dataclass(frozen=True)
class Fault:
    """A fault, and the ``alert`` that must report it.

    ``due``: when the alert's condition begins to hold, from which its ``for`` counts. ``over``: when the fault ends.
    ``series``: (until, seconds between scrapes) -> the series that the rules read.
    """

    alert: str
    what: str
    due: int
    over: int
    series: Callable

    @property
    def waits(self):
        """The alert's ``for``, in seconds."""
        return round(seconds(str(VALUES[self.alert].get("for", "0s"))))

    @property
    def lingers(self):
        """Seconds for which an alert with a window may fire after the fault."""
        own = VALUES[self.alert]
        window = own.get("short") or ("0s" if "for" in own else own.get("window", "0s"))
        return round(seconds(str(window)) + seconds(str(own.get("keep_firing_for", "0s"))))

    @property
    def until(self):
        """End of the replay, in whole minutes."""
        return -(-(self.over + self.lingers + 120) // 60) * 60

    def in_cluster(self, until, scrape):
        """The series in their own cluster, which has the alert's name."""
        return labelled(self.series(until, scrape), self.alert)


def labelled(series, cluster):
    """The series of a cluster with this name."""
    return {name.replace("{", f'{{cluster="{cluster}", ', 1): values for name, values in series.items()}


def of_group(alert: str, what: str, due: int, over: int, script: Script, *more, **settings) -> Fault:
    """A fault in the series of a group's observer; ``more``: other series. ``settings``: those of `Script.series`."""

    def series(until, scrape):
        return script.series(until, scrape, **settings) | _all(more, until, scrape)

    return Fault(alert, what, due, over, series)


def of_series(alert: str, what: str, due: int, over: int, *more) -> Fault:
    """A fault that is visible only in these series."""
    return Fault(alert, what, due, over, lambda until, scrape: _all(more, until, scrape))


def shown(name, before, during, over, **labels):
    """A series that is ``before``, from `FROM` to ``over`` it is ``during``, then ``before`` again; None: absent.

    ``during`` may be a function of the seconds since `FROM`.
    """

    def series(until, scrape):
        values = {}
        for number in range(until // scrape + 1):
            at = number * scrape
            value = before if not FROM <= at < over else during(at - FROM) if callable(during) else during
            if value is not None:
                values[number] = value
        return {series_name(name, labels): values}

    return series


def counted(name, before, during, over, **labels):
    """A counter that grows by ``during`` a second from `FROM` to ``over``, and by ``before`` a second otherwise."""

    def series(until, scrape):
        times = [number * scrape for number in range(until // scrape + 1)]
        faulty = [max(0, min(at, over) - FROM) for at in times]
        values = (before * (at - some) + during * some for at, some in zip(times, faulty, strict=True))
        return {series_name(name, labels): dict(enumerate(values))}

    return series


def _all(more, until, scrape):
    return {name: values for each in more for name, values in each(until, scrape).items()}
