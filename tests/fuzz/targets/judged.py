"""Inputs of `verify`: events from any publisher, and the text of a scrape."""

from __future__ import annotations

from functools import cache

from fuzz.target import KB, MB, Target, read_or_refused
from fuzz.targets.posted import GOLDEN, events
from rebalance_agent.audit.audit_report import AuditReport
from rebalance_agent.audit.audited_group import RecordPosition
from rebalance_agent.audit.expected.entries import LogRecord
from rebalance_agent.audit.ledger import AuditWindow, Ledger
from rebalance_agent.audit.lifetime_counters import LifetimeCounters, check_lifetime
from rebalance_agent.cli.inputs.raw_records import raw_record
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.runtime.watch.audit_source import scraped

__all__ = ["TARGETS"]

RECORDS_MAX = 12
"""Number of records of the first captured group that the events are compared with."""

SCRAPE = (
    b'kafka_rebalance_completed_total{consumergroup="eager",trigger="member_joined"} 2\n'
    b'kafka_rebalance_failed_total{consumergroup="eager",reason="aborted"} 4\n'
    b'kafka_rebalance_stall_seconds_sum{consumergroup="eager",basis="exact"} 1.5\n'
    b'rebalance_agent_last_poll_timestamp_seconds{poll="list"} 1700000000.5\n'
    b"rebalance_agent_replayed_records_total 3\n"
    b'rebalance_agent_ready{part="offsets_topic"} 1\n'
)

WORDS = (b"eager", b"group_gone", b'"parts"', b'"event_id"', b"NaN", b"+Inf", b"1e400", b"# TYPE", b"} ")


@cache
def records():
    lines = GOLDEN.with_name("captured_topic.ndjson").read_bytes().splitlines()[1 : RECORDS_MAX + 1]
    found = [raw_record(line) for line in lines]
    return [
        LogRecord(RecordPosition("records", 0, at), each.timestamp, each.key, each.value)
        for at, each in enumerate(found)
    ]


@cache
def true_events():
    return [event_from_json(json_object(line)) for line in GOLDEN.read_bytes().splitlines()]


def take_reported(data):
    """Lines of events: each is refused, or passed to a ledger with real records, which completes."""
    ledger = Ledger("captured")
    for number, line in enumerate(data.split(b"\n")):
        event = read_or_refused(lambda line: event_from_json(json_object(line)), line, InvalidInputError)
        if event is not None:
            ledger.add_event(event, RecordPosition("events", -1, number))
    ledger.expect(AuditWindow(ledger.published.first_ms or 0))
    for record in records():
        ledger.add_record(record)
    _is_shown(ledger.close())


def take_scrape(data):
    """Text of metrics: refused, or compared with events."""
    text = data.decode(errors="replace")
    scrape = read_or_refused(scraped, text, InvalidInputError)
    if scrape is not None:
        report = AuditReport()
        lives = scrape.counters, true_events(), scrape.at_ms
        check_lifetime(
            LifetimeCounters(
                "fuzzed", *lives, started_from_snapshot=scrape.started_from_snapshot, replayed=scrape.replayed
            ),
            report,
        )
        _is_shown(report)


def _is_shown(report):
    assert report.summary().startswith("no difference; " if report.clean else f"{report.found} difference")
    assert all(str(each) for each in report.differences)


TARGETS = (
    Target("reported", take_reported, events, WORDS, 4.0, 160 * MB, 400, 8 * KB, text=True),
    Target("scrape", take_scrape, lambda: [SCRAPE], WORDS, text=True),
)
