"""The bounds of events must contain the stalls that members measured."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from chaos.members.kinds import Kind
from chaos.verdict import account as accounts
from chaos.verdict.account import Account, judged, write
from support.judge.records import generation, group_key
from support.members.member_lines import Lines

KIND = Kind("k", "librdkafka")
BEGAN = 1_795_531_000_000
RECORDS = ((1_000, generation(1, **{"k-0": [0, 1]})), (11_490, generation(2, **{"k-0": [0], "k-1": [1]})))


class Record:
    """A record of the offsets topic."""

    def __init__(self, offset, at_ms, value):
        self._offset, self._at_ms, self._value = offset, at_ms, value

    def partition(self):
        return 0

    def offset(self):
        return self._offset

    def timestamp(self):
        return 1, BEGAN + self._at_ms

    def key(self):
        return group_key("chaos-k")

    def value(self):
        return self._value


class Clock:
    """A clock that the test sets."""

    now = 0

    def now_ms(self):
        return BEGAN + self.now


def member_with(*lines):
    member = Lines()
    for at_ms, word, *numbers in lines:
        member.take_line(word, BEGAN + at_ms, *numbers)
    return member


@pytest.fixture
def verdict(tmp_path, monkeypatch):
    """The verdict on bounds of a stall that took 2 s: the partition 1 went from one member to another."""
    monkeypatch.setattr(accounts, "topic_ids", lambda _: {})
    monkeypatch.setattr(accounts, "everything", lambda *_: [Record(n, *each) for n, each in enumerate(RECORDS)])
    log = tmp_path / "broker.log"
    log.touch()
    kafka = SimpleNamespace(bootstrap_servers="", logs={1: log})

    def reported(lower, upper, *, kinds=(KIND,), fault=None):
        account = Account()
        account._clock = clock = Clock()
        first = member_with((1_100, "assigned", 0, 1), (9_500, "revoked", 0, 1), (11_490, "assigned", 0))
        account.start(KIND, "k-0", lambda: first)
        clock.now = 9_000
        account.start(KIND, "k-1", lambda: member_with((11_500, "assigned", 1)))
        if fault:
            clock.now = 10_000
            account.note("fault", name=fault)
            account.note("fault over", name=fault)
        events = [
            {"kind": "generation", "event_id": f"e{number}", "group": "chaos-k", "generation": number,
             "timestamp_ms": BEGAN + at_ms, "closes_episode": True, "members": [{}],
             "stall": {"basis": "bound", "lower_seconds": low, "seconds": high}}
            for number, at_ms, low, high in ((1, 1_000, 0.0, 0.1), (2, 11_490, lower, upper))
        ]  # fmt: skip
        folder = tmp_path / "account"
        write(account, kafka, kinds, "t", [json.dumps(each).encode() for each in events], folder)
        return judged(folder)

    return reported


def test_a_bound_that_contains_the_members_measurement_is_right(verdict):
    found = verdict(1.5, 2.5)
    assert found.wrong == ()
    assert found.what.startswith("members' account: 2 bounds were judged, 0 are false")


@pytest.mark.parametrize("bounds", [(0.0, 0.9), (3.1, 4.0)])
def test_a_bound_that_excludes_the_members_measurement_is_wrong(verdict, bounds):
    (first, more) = verdict(*bounds).wrong
    assert first.startswith("chaos-k 2: ")
    assert first.endswith(f"reported {bounds[0]} to {bounds[1]} s, members measured 2.0 to 2.0 s")
    assert "1 bounds are false" in more


def test_delays_of_the_scheduler_of_a_second_are_tolerated(verdict):
    assert verdict(0.0, 1.1).wrong == ()


def test_false_bounds_beside_a_wrong_clock_are_no_error(verdict):
    found = verdict(0.0, 0.5, fault="clock set back")
    assert found.wrong == ()
    assert "1 false ones lie beside a wrong clock" in found.what


def test_the_wrong_clock_of_a_sidecar_excuses_no_false_bound(verdict):
    assert verdict(0.0, 0.5, fault="sidecar clock set back").wrong


def test_members_without_reports_are_an_error(verdict):
    assert verdict(1.5, 2.5, kinds=()).wrong == ("no bound was judged: members reported nothing",)


def test_the_account_contains_the_ends_of_members():
    account = Account()
    account._clock = clock = Clock()
    leaves = account.start(
        KIND, "k-0", lambda: member_with((100, "assigned", 0), (200, "read", 0, 7), (600, "revoked", 0))
    )
    dies = account.start(KIND, "k-0", lambda: member_with((700, "assigned", 0)))

    def ends():
        clock.now += 300

    clock.now = 500
    account.end(leaves, "close", ends)
    account.end(dies, "kill", ends)
    assert [act["do"] for act in account.acts] == ["start", "start", "close", "ended", "kill", "ended"]
    lines = account.lines("t")
    said = [(line["at"] - BEGAN, line["what"], line.get("edge")) for line in lines["chaos-k", "k-0.1"]]
    assert said == [(100, "assigned", "enter"), (100, "assigned", "exit"), (200, "read", None), (500, "closing", None),
                    (600, "revoked", "enter"), (600, "revoked", "exit"), (800, "closed", None)]  # fmt: skip
    assert [line["what"] for line in lines["chaos-k", "k-0.2"]] == ["assigned", "assigned"]
