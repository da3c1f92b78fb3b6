from __future__ import annotations

import json

import pytest

from judge.verdict.late import read_late, unreadable


class Evidence:
    """A folder of evidence with the parts that determine late reading."""

    def __init__(self, *acts, left=(), looks=None, published=()):
        self.acts = [{"at": at, "do": do, **more} for at, do, more in acts]
        self._left, self._looks, self._published = left, looks or {}, published

    def events(self, _observer):
        return [{"timestamp": at} for at in self._published]

    def text(self, name):
        return json.dumps(self._looks.get(name, self._left))


def late(name, folder):
    return read_late(name, folder, unreadable(folder))


def killed(at, name="lone"):
    return at, "observer killed", {"observer": name}


def ready(at, name="lone"):
    return at, "observer ready", {"observer": name}


def started(at, name="lone"):
    return at, "observer started", {"observer": name}


DOWN, BACK = (150_000, "broker killed", {"broker": 3}), (170_000, "brokers back", {"brokers": [3]})
SURVIVORS, LATER = ((at, "survivors", {"file": "survivors.json"}) for at in (171_000, 180_000))


def test_a_killed_observer_reads_records_late_from_shortly_before_until_its_restart():
    folder = Evidence(killed(100_000), LATER, started(190_000), ready(200_000), left=["0:1"])
    assert late("lone", folder) == [(40_000, 200_000, {"0:1"})]
    assert late("kept", folder) == []


def test_what_a_killed_observer_read_after_its_last_written_event_is_read_late():
    """Seed 23: brokers took no events for minutes before it was killed."""
    folder = Evidence(killed(300_000), LATER, ready(400_000), left=["0:1"], published=[90_000, 100_000, 410_000])
    assert late("lone", folder) == [(40_000, 400_000, {"0:1"})]


def test_an_observer_must_have_read_only_records_left_before_and_after_its_reading():
    again = (201_000, "survivors", {"file": "again.json"})
    folder = Evidence(
        killed(100_000),
        LATER,
        started(190_000),
        ready(200_000),
        again,
        left=["0:1", "0:2"],
        looks={"again.json": ["0:2"]},
    )
    assert late("lone", folder) == [(40_000, 200_000, {"0:2"})]


def test_observer_and_judge_read_records_late_after_an_outage_with_compaction():
    second = (151_000, *DOWN[1:])
    folder = Evidence(
        killed(100_000), DOWN, second, BACK, SURVIVORS, LATER, started(190_000), ready(200_000), left=["0:1"]
    )
    assert late("kept", folder) == [(150_000, 170_000, {"0:1"})]
    assert len(late("lone", folder)) == 2


@pytest.mark.parametrize(
    ("acts", "left"),
    [
        ([DOWN, BACK, SURVIVORS], []),
        ([DOWN, killed(151_000), BACK, SURVIVORS], []),
        ([killed(100_000), started(120_000), DOWN, BACK, SURVIVORS], []),
        ([killed(100_000), DOWN, BACK], []),
        ([killed(100_000), DOWN, BACK, SURVIVORS], None),
    ],
    ids=["no compaction", "compaction later", "compaction before", "no look", "nobody knows what is left"],
)
def test_nothing_is_read_late_if_nothing_was_compacted_meanwhile(acts, left):
    assert late("kept", Evidence(*acts, left=left)) == []
