"""The schedule of a run, by seed, in simulated time: enough of each fault and of membership changes."""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace

import pytest

from judge.play.faults import Faults
from judge.play.groups import GROUPS, PARTITIONS
from judge.play.lives import Life
from judge.play.schedule import FAULTS, enough, lanes
from judge.verdict.judgement import MEMBERSHIP
from judge.verdict.summary import CHANGES_MIN, PLAYED_MIN, played

MINUTES = 15
SEEDS = ((7, 11, 23), (1, 2, 3), (104_729, 500_000, 999_983))
CLOSES_S = 4.0
FAULTS_S = {
    "coordinator killed": 22,
    "leaders moved": 12,
    "outage": 28,
    "observer killed": 42,
    "open transactions": 20,
}
"""Duration of each step on a machine with other load."""


class Time:
    """The context of one thread, in which time passes only while it waits."""

    def __init__(self, seed, minutes=MINUTES):
        self.seed, self.over, self.acts, self.done = seed, self, self, Counter()
        self._left_s, self._partitions = minutes * 60, PARTITIONS

    def wait(self, seconds):
        self._left_s -= seconds
        return self._left_s <= 0

    def note(self, do, **_more):
        self.done[do] += 1

    def add_partitions(self, _group, _topic, limit):
        self._partitions += 2
        return self._partitions <= limit

    def add_topic(self, *_):
        return True


class Member:
    """A member that executes each command at once, and needs some time to leave."""

    def __init__(self, _group, name, context, _instance, _settings):
        self.name, self.running, self._context = name, True, context
        context.note("start")

    def send(self, do, **_more):
        self._context.note(do)

    def stop(self):
        self._context.note("stop")

    def go_on(self):
        pass

    def kill(self):
        self._context.note("kill")
        self.running = False

    def close(self):
        self._context.note("close")
        self._context.wait(CLOSES_S)
        self.running = False


def run(seed, monkeypatch):
    """The report of a run that was not played."""
    monkeypatch.setattr("judge.play.lives.Member", Member)
    changes, done = Counter(), Counter()
    for group in GROUPS:
        context = Time(seed)
        life = Life(group, context)
        life._changes()
        changes += life.played
        done += context.done
    counts = Counter()
    for lane in lanes():
        context = Time(seed)
        faults = Faults(context, lambda name, _chance, context=context: context.wait(FAULTS_S[name]))
        faults.play(lane)
        counts += faults.played
    wanted = {change for group in GROUPS for change in group.changes} | set(FAULTS)
    text = json.dumps({"changes": changes, "faults": counts})
    return {"seed": seed, "played": text, "wanted": wanted, "changes": sum(done[name] for name in MEMBERSHIP)}


@pytest.mark.parametrize("seeds", SEEDS)
def test_three_runs_have_each_fault_and_membership_changes_often_enough(seeds, monkeypatch):
    reports = [run(seed, monkeypatch) for seed in seeds]
    counts = played(reports)
    assert {name: each for name, each in counts.items() if sum(each) < PLAYED_MIN} == {}
    assert counts.keys() == reports[0]["wanted"]
    assert min(report["changes"] for report in reports) >= CHANGES_MIN


def test_the_same_seed_gives_the_same_run(monkeypatch):
    assert run(7, monkeypatch) == run(7, monkeypatch)
    assert run(7, monkeypatch) != run(8, monkeypatch)


def test_three_whole_runs_have_each_fault_often_enough():
    assert 3 * enough(MINUTES) >= PLAYED_MIN
    assert (enough(2), enough(MINUTES)) == (1, 7)


def test_faults_can_be_selected():
    assert lanes(["outage"]) == [("outage",)]
    assert lanes([]) == []
    assert sorted(name for lane in lanes() for name in lane) == sorted(FAULTS)


def test_a_refused_fault_does_not_count():
    def refuses(_name, _chance):
        raise TimeoutError("brokers are away")

    faults = Faults(Time(1, minutes=2), refuses, ["outage"])
    faults.play(("outage",))
    assert faults.played == {}
    assert faults.few(minutes=2)
    assert not Faults(SimpleNamespace(seed=1), refuses, []).few(minutes=2)


def test_a_run_continues_until_each_fault_occurred_often_enough():
    faults = Faults(Time(1), None, ["outage", "open transactions"])
    faults.played.update({"outage": 7, "open transactions": 6})
    assert faults.few(MINUTES)
    faults.played["open transactions"] += 1
    assert not faults.few(MINUTES)
