"""Events: posted to a sidecar, read by observers from the events topic, and ingested by the pipeline."""

from __future__ import annotations

import json
from pathlib import Path

from fuzz.target import KB, MB, Target, read_or_refused
from rebalance_agent.api.events_endpoint import EventsApp
from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.http.events_post import EVENTS_PATH
from rebalance_agent.http.health import Readiness
from rebalance_agent.instrumentation.led_members import LedMembers
from rebalance_agent.metrics.export.member_metrics import MemberMetrics
from rebalance_agent.model.event_json import event_from_json, json_line, json_object
from rebalance_agent.model.reported.led_generation import LedGenerationEvent, LedMember
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.pipeline.ingest.event_rows import EventRow, event_row
from rebalance_agent.polls.member_events import parse_report
from rebalance_agent.tracking.observations import MemberReported, Tick
from rebalance_agent.tracking.observed_record import observed_generation
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.ui.page.site import Site
from support.browsers.webpages import well_formed
from support.http.asked import ask
from support.observer.fakes import generation_event
from support.observer.scrapes import families
from support.observer.views import NOW, assign_event, member_event
from support.tracker.tracking import feed

__all__ = ["TARGETS"]

GOLDEN = Path(__file__).parents[2] / "golden" / "captured_topic_events.ndjson"

LABELS_MAX = 60
"""Values of a label that a sidecar may have exported: its bounds, plus values of several events in one post."""

SUBSCRIPTION = encode_subscription(ConsumerSubscription(3, ("t",)))
ASSIGNMENT = encode_assignment(ConsumerAssignment(3, {"t": (0, 1)}))
LED = LedMembers(7, "range", "a", NOW - 100, (LedMember("a", SUBSCRIPTION, ASSIGNMENT),))
"""A generation as its leader reports it."""

WORDS = (b"member", b"assign", b"payments", b"0-99999", b'"kind"', b"1e400", b"\\ud800")


def take_post(data):
    """A body: refused completely, or counted, shown, and published unchanged."""
    accepted, metrics = [], MemberMetrics(FakeClock(NOW))
    app = EventsApp(lambda events, _dropped: accepted.extend(events), FakeClock(NOW))
    status, _, answer = ask(app, EVENTS_PATH, "POST", data, content_length=str(len(data)))
    answer = json.loads(answer)
    if status != 200:
        assert status in {400, 413, 429}, status
        assert accepted == []
        return
    assert answer == {"accepted": len(accepted)}
    metrics.observe(accepted)
    shown = families(metrics.text())
    assert all(len(family.samples) <= LABELS_MAX * 20 for family in shown.values())
    well_formed(Site(Readiness(), consumers=metrics.consumers).answer("/", "", ())[2])
    for event in accepted:
        line = json_line(event)
        assert json_line(event_from_json(json_object(line))) == line


def take_report(data):
    """A record of the events topic, as an observer reads it."""
    event = read_or_refused(parse_report, data, InvalidInputError)
    if event is not None:
        tracker = Tracker("cluster")
        led = isinstance(event, LedGenerationEvent)
        observed = observed_generation(event, NOW) if led else MemberReported(NOW, event)
        for each in feed(tracker, observed, Tick(NOW + 60_000)):
            json_line(each)
        for group in tracker.changed():
            tracker.view(group)


def take_row(data):
    """A record of the events topic, as Spark's workers decode it: a row or a reason, never an exception."""
    found = event_row(data)
    str(found)
    if isinstance(found, EventRow):
        found.body.encode()
        (found.event_id + found.cluster_id + found.group).encode()


def posts():
    one, other = json_line(member_event(join_seconds=0.5, reason="r", reprocessed_records=3)), json_line(assign_event())
    led = json_line(LED.event("g", NOW, 45_000, 300_000, "process", 1))
    return [one, other, led, b"\n".join([one, other, b"", one])]


def events():
    return [*posts()[:3], json_line(generation_event()), *GOLDEN.read_bytes().splitlines()[:12]]


TARGETS = (
    # A range of a hundred thousand partitions is a few bytes, and a post may hold a million: 40 MB.
    Target("post", take_post, posts, WORDS, 4.0, 128 * MB, 400, 8 * KB, text=True),
    Target("report", take_report, events, WORDS, 2.0, 32 * MB, 400, 8 * KB, text=True),
    Target("row", take_row, events, WORDS, 4.0, 160 * MB, 400, 8 * KB, text=True),
)
