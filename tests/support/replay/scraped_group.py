"""The series of one group that rules read, from an observer and sidecars during its history.

A real tracker gets the history's observations, and the observer's own rows read its view at each scrape. Times are
seconds since the history began, as in promtool.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import defaultdict

from alerts.pack import GROUPS
from alerts.render import rules
from alerts.values import load

from rebalance_agent.metrics.group_metric import ExportedGroup, SeriesLimits
from rebalance_agent.metrics.group_rows import GROUP_ROWS
from rebalance_agent.metrics.group_samples import constant_until_ms
from rebalance_agent.metrics.member_rows import CALLBACK_BUCKETS, CALLBACK_SECONDS
from rebalance_agent.model.events import Callback
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord, GroupsListed, MemberReported, Tick
from rebalance_agent.tracking.views import StallHistogram

__all__ = ["ScrapedGroup", "callback_series", "notation"]

_EXPRESSIONS = " ".join(rule["expr"] for group in GROUPS for rule in rules(group, load())["groups"][0]["rules"])
READ = frozenset(re.findall(r"\b(?:kafka_rebalance|rebalance_agent)_\w+", _EXPRESSIONS))
"""The names of all series in the rules."""

_ROWS = [row for row in GROUP_ROWS if any(row.name + suffix in READ for suffix in ("", "_sum", "_count"))]
_COUNTER = re.compile(r"_(total|sum|count)\{")
_BOUNDS = (*(bound for bound in CALLBACK_BUCKETS if bound >= 1), math.inf)
"""The buckets that a rule on slow callbacks needs."""

_LEAVES_SECONDS = 30
"""Seconds for which a sidecar is scraped after its consumer has left: Kubernetes' default grace period."""


class ScrapedGroup:
    """Wraps a tracker, and reads its group's series at each scrape."""

    def __init__(self, name, tracker, since_ms, scrape):
        self.reports = []
        self._values = defaultdict(dict)
        self._name, self._tracker, self._since_ms, self._scrape = name, tracker, since_ms, scrape
        self._scrapes = 0
        self._samples, self._constant_until_ms = {}, 0

    def observe(self, observation):
        at_ms = seen_ms(observation)
        while self._since_ms + self._scrapes * self._scrape * 1000 < at_ms:
            self._read(self._since_ms + self._scrapes * self._scrape * 1000)
            self._scrapes += 1
        if isinstance(observation, MemberReported):
            self.reports.append(observation.event)
        return self._tracker.observe(observation)

    @property
    def behind(self):
        return self._tracker.behind

    @property
    def series(self):
        """Series -> values by the number of the scrape, without counters that stay 0."""
        return {
            name: values
            for name, values in self._values.items()
            if not _COUNTER.search(name) or len(set(values.values())) > 1
        }

    def _read(self, now_ms):
        self._tracker.observe(Tick(now_ms))
        if self._tracker.changed() or now_ms >= self._constant_until_ms:
            view = self._tracker.view(self._name)
            self._samples = dict(_samples(view, now_ms)) if view else {}
            self._constant_until_ms = constant_until_ms(view, now_ms) if view else 0
        later = bool(self._values)
        for name, value in self._samples.items():
            born = later and name not in self._values and _COUNTER.search(name)
            self._values[name][self._scrapes] = 0 if born else value  # as the observer's page does


def _samples(view, now_ms):
    """(Series in promtool's notation, value) of the rows that rules read."""
    exported = ExportedGroup(view, SeriesLimits())
    for row in _ROWS:
        if row.value:
            value = row.value(view)
            values = () if value is None else (((), value),)
        else:
            values = row.samples(exported) if row.samples else row.running(view, now_ms)
        for labels, value in values:
            given = dict(zip(row.labels, (view.group, *map(str, labels)), strict=True))
            if isinstance(value, StallHistogram):
                yield series_name(f"{row.name}_sum", given), value.sum_seconds
                yield series_name(f"{row.name}_count", given), sum(value.counts)
            else:
                yield series_name(row.name, given), value


def callback_series(events, since_ms, scrape, scrapes):
    """The sidecars' series of revoked callbacks, one per process; 0 at its first scrape, like all its series."""
    ended, born, gone = defaultdict(list), {}, {}
    for event in events:
        at = (event.timestamp_ms - since_ms) / 1000
        process = (event.group, event.process)
        born.setdefault(process, at)
        if event.KIND == "member" and event.callback is Callback.REVOKED:
            ended[process].append((at, (event.timestamp_ms - event.started_ms) / 1000))
        elif event.KIND == "member" and event.callback is Callback.LEFT:
            gone[process] = at + _LEAVES_SECONDS
    series = {}
    for (group, process), callbacks in ended.items():
        first = int(born[group, process] // scrape) + 1
        last = min(scrapes, int(gone.get((group, process), scrapes * scrape) // scrape) + 1)
        for bound in _BOUNDS:
            le = "+Inf" if math.isinf(bound) else f"{bound:g}"
            labels = {"consumergroup": group, "callback": "revoked", "instance": process, "le": le}
            times = sorted(at for at, seconds in callbacks if seconds <= bound)
            values = {number: bisect_left(times, number * scrape) for number in range(first + 1, last)}
            series[series_name(f"{CALLBACK_SECONDS.name}_bucket", labels)] = {first: 0, **values}
    return series


def series_name(name, labels):
    """A series in promtool's notation."""
    inside = ", ".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{name}{{{inside}}}"


def notation(values, scrapes):
    """The values (number of the scrape -> value) in promtool's notation, with a stale marker where they end."""
    runs, before = [], "_"
    for number in range(scrapes):
        text = f"{values[number]:.12g}" if number in values else "_" if before in ("_", "stale") else "stale"
        if runs and text == before:
            runs[-1][1] += 1
        else:
            runs.append([text, 1])
        before = text
    return " ".join(_run(*run) for run in runs)


def _run(text, times):
    if times == 1:
        return text
    return f"_x{times}" if text == "_" else f"{text}+0x{times - 1}"


def seen_ms(observation):
    """The time at which the observer gets it, in epoch milliseconds."""
    if isinstance(observation, GroupRecord | EpochRecord):
        return observation.seen_ms
    return observation.answered_ms if isinstance(observation, GroupsListed) else observation.at_ms
