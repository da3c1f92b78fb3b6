"""Records of ``__consumer_offsets``, whose contents members partly choose, through all code that uses them."""

from __future__ import annotations

import itertools
import json
from urllib.parse import quote

from fuzz.target import KB, MB, Target, joined, parts, read_or_refused
from fuzz.targets.members import both_readers_agree
from rebalance_agent.api.groups_api import GroupsApi
from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.group_fact import group_fact
from rebalance_agent.groupprotocol.record_json import record_json
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from rebalance_agent.groupprotocol.tables import RECORDS
from rebalance_agent.http.health import Readiness
from rebalance_agent.metrics.export.groups_page import GroupsPage
from rebalance_agent.model.event_json import event_from_json, json_line, json_object
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.offsets_topic.snapshots.codec import StoredRecord
from rebalance_agent.pipeline.ingest.event_rows import EventRow, event_row
from rebalance_agent.tracking.observations import Backfilled, Tick
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.ui.page.site import GroupPages, Site
from support.browsers.webpages import get, well_formed
from support.kafka.captured import CAPTURED, EVERY_KIND
from support.observer.fakes import fake_context
from support.observer.scrapes import families
from support.tracker.tracking import feed

__all__ = ["TARGETS"]

RECORDS_MAX = 24
"""Maximum number of records in one input."""

WORDS = (b"consumer", b"range", b"clicks", b"eager", b"/127.0.0.1")


def take_record(data):
    """A key and a value."""
    key, value = [*parts(data), None, None][:2]
    key = key or b""
    if (table := RECORDS.get(int.from_bytes(key[:2], "big", signed=True))) is not None and value:
        both_readers_agree(table.value, value)
    record = read_or_refused(lambda value: decode_record(key, value), value, DecodeError)
    if record is None:
        return
    assert record.kind == record_kind(key)
    group_fact(record)
    json.dumps(record_json(record, 5))


def take_observer(data):
    """Keys and values in turn, through all code that shows, publishes and ingests them.

    Nothing may fail; published events can be decoded again and are accepted by the pipeline.
    """
    start = EVERY_KIND.start_ms
    pieces = parts(data)[: 2 * RECORDS_MAX]
    pairs = zip(pieces[::2], pieces[1::2], strict=False)
    records = [StoredRecord(0, at, start + 500 * at, key or b"", value) for at, (key, value) in enumerate(pairs)]
    reader, tracker = GroupRecords(fake_context()), Tracker("fuzzed")
    found = [reader.decode(message, live=True) for message, _ in reader.of_groups(records)]
    begun, end_ms = Backfilled(start, frozenset({0})), start + 500 * len(records) + 120_000
    events = feed(tracker, EVERY_KIND.topics, begun, *(each for each in found if each is not None), Tick(end_ms))
    for event in events:
        line = json_line(event)
        assert json_line(event_from_json(json_object(line))) == line
        assert isinstance(event_row(line), EventRow), event_row(line)
    _is_shown([view for group in tracker.changed() if (view := tracker.view(group))], events, end_ms)


def _is_shown(views, events, now_ms):
    clock, history = FakeClock(now_ms), EpisodeHistory()
    for event in events:
        history.on_event(event)
    api = GroupsApi(lambda: tuple(views), history, clock)
    site = Site(Readiness(), groups=GroupPages(api, history, clock))
    families(GroupsPage(lambda: views, clock).text())
    assert api("/api/v1/groups", "")[0] == "200 OK"
    well_formed(site.answer("/", "", ())[2])
    for view in [each for each in views if each.group][:2]:  # brokers allow no group without a name
        assert get(api, view.group)["summary"]["group"] == view.group
        status, _, page = site.answer("/group", f"name={quote(view.group, safe='')}", ())
        assert status == "200 OK"
        well_formed(page)


def records():
    """One record of each kind and version, the longest, and a tombstone."""
    by_length = sorted(CAPTURED, key=lambda pair: len(pair[1] or b""))
    longest = {(key[1], (value or b"")[:2]): (key, value) for key, value in by_length}
    return [joined(*pair) for pair in longest.values()]


def group_records():
    """Parts of each captured group's records."""
    by_group = {}
    for key, value in CAPTURED:
        record = decode_record(key, value)
        if record.kind != "offset_commit":
            by_group.setdefault(record.group, []).append((key, value))
    pieces = [some[at : at + 12] for some in by_group.values() for at in range(0, len(some), 12)]
    return [joined(*itertools.chain.from_iterable(piece)) for piece in pieces]


TARGETS = (
    Target("record", take_record, records, WORDS, framed_from=0),
    # Text, pages and events of a whole observer, all of which contain every member.
    Target("observer", take_observer, group_records, WORDS, 2.0, 16 * MB, 4_000, 8 * KB, framed_from=0),
)
