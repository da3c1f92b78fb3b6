"""Groups in which one member is bad: killed every 30 s, 12 s in its revoked callback, or suspended.

The first two were also tested in a real Grafana.
"""

from __future__ import annotations

from rebalance_agent.model.events import Callback
from rebalance_agent.tracking.tracker import Tracker
from support.replay.fault import FROM
from support.replay.scraped_group import ScrapedGroup, callback_series, seen_ms
from support.replay.script import Script
from support.tracker.tracking import T0, assigned, committed, left, listed, member, record, revoked, said, tick, topics

__all__ = ["killed", "slow_to_revoke", "suspended"]

ALL = {"a": (0, 1, 2, 3), "b": (4, 5, 6, 7), "c": (8, 9, 10, 11)}
WITHOUT_B = {"a": (0, 1, 2, 3, 4, 5), "c": (6, 7, 8, 9, 10, 11)}
WITHOUT_C = {"a": (0, 1, 2, 3, 4, 5), "b": (6, 7, 8, 9, 10, 11)}


def killed(until, scrape, every=30):
    """Three members that do not report; from `FROM` on one is killed and restarted every ``every`` seconds."""
    script = Script("killed", "a", "b", "c", session_timeout_ms=10_000)
    for at in range(FROM, until - every, every):
        script.crash(at, "b")
        script.join(at + 2, "b")
    return script.series(until, scrape, commits=True)


def slow_to_revoke(until, scrape, every=180):
    """Three members that report, with a rebalance timeout of 10 s; b takes 12 s in its revoked callback.

    From `FROM` on, c leaves every ``every`` seconds and returns a minute later. Each time b is removed, and rejoins.
    """
    play = _SlowToRevoke()
    for at in range(FROM, until - 60, every):
        play.rebalances(at, WITHOUT_C, gone="c")
        if at + 60 < until - 60:
            play.rebalances(at + 60, ALL)
    return _scraped(play.seen, until, scrape)


def suspended(until, scrape):
    """Three members that report; b is suspended, removed at `FROM`, and detects this 20 s later."""
    seen = _SlowToRevoke().seen
    members = [member(name, numbers) for name, numbers in WITHOUT_B.items()]
    seen += [listed(FROM * 1000 - 500), listed(FROM * 1000 - 300, "g"), record(FROM * 1000, 2, *members)]
    late_ms = FROM * 1000 + 20_000
    return _scraped([*seen, said(Callback.LOST, "b", late_ms, late_ms + 10, 1, ALL["b"])], until, scrape)


def _scraped(seen, until, scrape):
    group = ScrapedGroup("g", Tracker("cluster"), T0, scrape)
    for observation in sorted(seen, key=seen_ms):
        group.observe(observation)
    group.observe(tick(until * 1000))
    return group.series | callback_series(group.reports, T0, scrape, until // scrape)


class _SlowToRevoke:
    """The observations, one rebalance after the other. Times are in seconds; the functions of `tracking` take
    milliseconds."""

    def __init__(self):
        self.generation, self.has, self.since = 1, ALL, 5_000
        self.seen = [topics(0, t=12), record(1_000, 0), self._record(5_000)]
        self.seen += [assigned(name, 5_000, 5_010, 1, numbers) for name, numbers in ALL.items()]

    def rebalances(self, at, then, gone=None):
        """The others wait 10 s for b and continue without it; b rejoins 2 s later."""
        at_ms = at * 1000
        self._commits(at_ms)
        for name, numbers in self.has.items():
            took_ms = 12_000 if name == "b" else 10
            self.seen.append(revoked(name, at_ms, at_ms + took_ms, self.generation, numbers))
            if name == gone:
                self.seen.append(left(name, at_ms + 20, self.generation))
        others = {name: WITHOUT_B.get(name) or () for name in then if name != "b"}
        if len(others) == 1:
            others = dict.fromkeys(others, tuple(range(12)))
        self._generation(at_ms, at_ms + 10_000, others)
        self._commits(at_ms + 12_000)
        for name, numbers in others.items():
            self.seen.append(revoked(name, at_ms + 12_000, at_ms + 12_010, self.generation, numbers))
        self._generation(at_ms + 12_000, at_ms + 13_000, then)

    def _generation(self, began_ms, ended_ms, has):
        self.seen.append(listed(began_ms - 100))
        self.seen += [listed(ms, "g") for ms in range(began_ms + 100, ended_ms, 200)]
        self.generation, self.has, self.since = self.generation + 1, has, ended_ms
        self.seen.append(self._record(ended_ms))
        self.seen += [assigned(name, ended_ms, ended_ms + 10, self.generation, each) for name, each in has.items()]

    def _record(self, at_ms):
        members = [member(name, numbers) for name, numbers in self.has.items()]
        return record(at_ms, self.generation, *members, joined=at_ms - 10)

    def _commits(self, until_ms):
        numbers = [number for each in self.has.values() for number in each]
        self.seen += [committed(at_ms, *numbers) for at_ms in range(self.since + 1_000, until_ms, 5_000)]
