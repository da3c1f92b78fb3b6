"""The lives of an observer that are compared, and the share of their events that the counters must contain."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest

from chaos.processes.agents import Life, Scraped
from chaos.verdict.counters import AWAY_MS, LASTING_S, compared, facts, reported_until
from rebalance_agent.audit.audit_report import AuditReport
from rebalance_agent.model.event_json import json_line
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.tracking import T0, feed, member, record, tick, topics

REPORTED = feed(
    Tracker("cluster", settle_ms=1_000),
    topics(0, t=4),
    record(1_000, 1, member("a", (0, 1, 2, 3))),
    record(3_000, 2, member("a", (0, 1, 2, 3))),
    record(5_000, 3, member("a", (0, 1, 2, 3))),
    tick(20_000),
)
LINES = [json_line(each) + b"\n" for each in REPORTED]
SECOND = sum(map(len, LINES[:2]))
SCRAPED_MS = T0 + 30_000


def metrics(events):
    """The metrics of an observer that counted these."""
    rows = [("partitions_revoked", "revoked"), ("partitions_assigned", "assigned"), ("noop", "noop")]
    sums = {f"{name}_total": sum(getattr(each, what) for each in events) for name, what in rows}
    triggers = Counter(each.trigger for each in events)
    return "".join(
        [
            *(f'kafka_rebalance_{name}{{consumergroup="g"}} {value}\n' for name, value in sums.items()),
            *(
                f'kafka_rebalance_completed_total{{consumergroup="g",trigger="{trigger}"}} {times}\n'
                for trigger, times in triggers.items()
            ),
        ]
    )


@pytest.fixture
def life(tmp_path):
    """Makes a life with this last scrape, taken when the events file had this size."""

    def make(text, written, **more):
        events = tmp_path / "observe-1.ndjson"
        events.write_bytes(b"".join(LINES) + LINES[0][:40])
        last = [Scraped(SCRAPED_MS, text, written)] if text is not None else []
        rest = {"killed": True, "running": False, "lived_s": LASTING_S, "readings": lambda: [(3, 3)]}
        return SimpleNamespace(**{"name": "observe-1", "events": events, "scrapes": last, **rest, **more})

    return make


def test_events_before_the_scrape_must_be_counted_and_later_ones_may_be(tmp_path):
    path = tmp_path / "events"
    path.write_bytes(b"".join([*LINES, LINES[0], LINES[1][:40]]))
    wrong = []
    reported = facts(path, wrong, killed=True)
    assert [event for _, event in reported] == list(REPORTED)
    assert reported_until(reported, SECOND) == REPORTED[2].timestamp_ms - 1 >= REPORTED[1].timestamp_ms
    assert reported_until(reported, SECOND - 1) == REPORTED[1].timestamp_ms - 1
    assert reported_until(reported, path.stat().st_size) is None
    assert facts(tmp_path / "none", wrong, killed=False) == wrong == []


@pytest.mark.parametrize(
    ("lines", "killed", "wrong"),
    [
        ([*LINES, LINES[0][:40]], True, 0),
        ([*LINES, LINES[0][:40]], False, 1),
        ([LINES[0], b"{}\n", *LINES[1:]], True, 1),
        ([*LINES, b"{}\n"], True, 1),
    ],
)
def test_only_the_last_line_of_a_killed_observer_may_be_incomplete(life, lines, killed, wrong):
    cut = life(metrics(REPORTED), sum(map(len, lines)), killed=killed)
    cut.events.write_bytes(b"".join(lines))
    found = compared([cut], AuditReport()).wrong
    assert len(found) == wrong
    assert all("has a line that is no event" in each for each in found)


def test_counters_must_contain_events_written_before_the_scrape(life):
    report = AuditReport()
    verdict = compared([life(metrics(REPORTED[:2]), SECOND), life(metrics(REPORTED), SECOND)], report)
    assert (report.counters, report.differences, verdict.wrong) == (2, [], ())
    assert (
        "2 of 2 lives of the observer were compared, 2 of them with events that they must hold: 4 of all 6"
        in verdict.what
    )
    compared([life(metrics(REPORTED[:1]), SECOND)], report)
    (difference,) = report.differences
    assert "completed is 1, but its events give 3" in difference.what


def test_a_running_observer_has_counted_everything(life):
    report = AuditReport()
    compared([life(metrics(REPORTED), 0, killed=False, running=True)], report)
    assert report.differences == []
    compared([life(metrics(REPORTED[:2]), SECOND, killed=False, running=True)], report)
    assert report.differences


def test_after_a_restart_of_reading_only_events_outside_of_outages_must_be_counted(life):
    report = AuditReport()
    verdict = compared([life(metrics(REPORTED[:1]), SECOND, readings=lambda: [(3, 3), (3, 3)])], report)
    assert report.differences == []
    assert "must hold: 0 of all 3 that were reported; 1 began to read again" in verdict.what
    assert verdict.wrong
    assert REPORTED[0].timestamp_ms > SCRAPED_MS - AWAY_MS


def test_observers_without_counters_are_not_enough_to_compare(life):
    assert "too little was compared" in compared([life(None, 0)], AuditReport()).wrong[0]
    assert "too little was compared" in compared([], AuditReport()).wrong[0]
    early, late = life(None, 0), life(None, 0, lived_s=LASTING_S + 1)
    others = [life(metrics(REPORTED), SECOND)] * 4
    assert compared([early, *others], AuditReport()).wrong == ()
    assert compared([late, *others], AuditReport()).wrong == (
        f"observe-1 lived for {LASTING_S + 1} s, and its counters were never scraped",
    )


def test_each_start_of_reading_is_in_the_log_and_incomplete_lines_are_ignored(tmp_path):
    log = tmp_path / "observe-1.log"
    line = '{"event": "snapshots_loaded", "partitions": 2, "of": 3}\n'
    log.write_text(f'{{"event": "listening", "port": 1}}\n{line}no JSON: snapshots_loaded\n{line}{line[:40]}')
    assert Life.readings(SimpleNamespace(log=log)) == [(2, 3), (2, 3)]
