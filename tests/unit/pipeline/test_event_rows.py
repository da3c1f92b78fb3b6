"""Every input becomes a row or a reason, never an exception."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.model.event_json import event_from_json, json_line, json_object
from rebalance_agent.pipeline.ingest import event_rows
from rebalance_agent.pipeline.ingest.event_rows import EventRow, Reason, event_row, rejected_id

LINES = (Path(__file__).parents[2] / "golden" / "captured_topic_events.ndjson").read_bytes().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_a_published_event_is_a_row_with_its_fields(line):
    row, data = event_row(line), json.loads(line)
    assert isinstance(row, EventRow)
    assert row.body.encode() == line
    for name in ("event_id", "kind", "cluster_id", "group", "schema_version", "revision"):
        assert getattr(row, name) == data.get(name, 0)
    assert row.timestamp == dt.datetime.fromtimestamp(data["timestamp_ms"] / 1000, dt.UTC)


SEAT = (
    b'{"act":"handover","client_id":"orders-7","cluster_id":"c","event_id":"0d8c","generation":7,"group":"orders",'
    b'"host":"10.0.0.9","instance_id":"rebalance-agent-seat-1","kind":"seat","member_id":"m","outcome":"right",'
    b'"partition_seconds_spared":12.5,"process":"p","rebalances_spared":1,"revision":1,"schema_version":1,"sequence":3,'
    b'"timestamp_ms":1795260564722,"where":{"pod":"orders-7"}}'
)


def test_what_a_gateway_did_about_a_seat_is_a_row():
    row = event_row(SEAT)
    assert isinstance(row, EventRow)
    assert (row.kind, row.revision, row.generation, row.source) == ("seat", 1, 7, None)
    assert row.body.encode() == SEAT


DELIVERIES = (
    b'{"cluster_id":"c","deliveries":{"accepted":80,"acquired":100,"redelivered":10,"rejected":2,"released":5,"renewed":1,'
    b'"since_ms":1795260500000},"event_id":"7a3f","group":"payments","kind":"deliveries","process":"p","revision":0,'
    b'"schema_version":1,"sequence":3,"timestamp_ms":1795260564722,"where":{"pod":"payments-7"}}'
)


def test_the_deliveries_that_a_gateway_counts_are_a_row():
    row = event_row(DELIVERIES)
    assert isinstance(row, EventRow)
    assert (row.kind, row.revision, row.generation, row.source) == ("deliveries", 0, None, None)
    assert row.body.encode() == DELIVERIES


def test_impossible_deliveries_are_rejected():
    reason = event_row(DELIVERIES.replace(b'"redelivered":10', b'"redelivered":101'))
    assert reason == ("malformed", "deliveries.redelivered: must not be larger than acquired")


LINE = LINES[0]
ODD = {
    "a number that Spark's reader refuses": LINE[:-1] + b',"news":' + b"7" * 2_000 + b"}",
    "a name that Spark's reader refuses": LINE[:-1] + b',"' + b"k" * 60_000 + b'":1}',
    "objects deeper than Spark's reader goes": LINE[:-1] + b',"news":' + b'{"a":' * 950 + b"1" + b"}" * 950 + b"}",
    "numbers that are none": LINE[:-1] + b',"news":[NaN,Infinity,-Infinity,1e999]}',
    "without a field that has a default": LINE.replace(b'"epoch_kind":"generation",', b""),
    "a name twice": LINE.replace(b'"owned":{}', b'"owned":{"eager":"0-1","eager":"2"},"owned":{}'),
    "blanks and another order": json.dumps(dict(reversed(json.loads(LINE).items())), indent=1).encode(),
    "ranges that are not joined": LINE.replace(b'"eager":"0-3"', b'"eager":"0,1,2-3"'),
}


@pytest.mark.parametrize("line", ODD.values(), ids=ODD)
def test_the_body_is_encoded_again_from_the_decoded_event(line):
    assert line != LINE
    row = event_row(line)
    assert isinstance(row, EventRow)
    assert row == event_row(LINE)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_event_have_a_reason(value):
    assert isinstance(event_row(value), Reason)


@given(st.sampled_from(LINES), st.data())
def test_a_damaged_event_is_a_storable_row_or_reason(line, data):
    place = data.draw(st.integers(0, len(line) - 1))
    found = event_row(line[:place] + bytes([data.draw(st.integers(0, 255))]) + line[place + 1 :])
    assert isinstance(found, EventRow | Reason)
    for text in found if isinstance(found, EventRow) else [str(found)]:
        if isinstance(text, str):
            text.encode()
    if isinstance(found, EventRow):
        assert json_line(event_from_json(json_object(found.body))).decode() == found.body


def changed(**fields):
    return json.dumps(json.loads(LINES[0]) | fields).encode()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "malformed: the record has no value"),
        (changed(schema_version=2), "newer_schema: this release reads schema versions up to 1; schema_version 2"),
        (changed(schema_version=10**400), "newer_schema"),
        (changed(schema_version=0), "malformed: schema_version"),
        (changed(kind="quota"), "unknown_kind: this release reads aborted, "),
        (changed(timestamp_ms=1), "malformed: timestamp_ms: must be between"),
        (changed(timestamp_ms=2**62), "malformed: timestamp_ms"),
        (changed(revision=2**31), "malformed: revision"),
        (changed(revision=-1), "malformed: revision"),
        (changed(part=1), "malformed: part"),
        (changed(event_id=""), "malformed: event_id"),
        (changed(members=7), "malformed: members"),
        (LINE.replace(b'"trigger":"group_started"', b'"trigger":' + b"[" * 900 + b"]" * 900), "malformed: trigger"),
        (b"\xef\xbb\xbf" + LINES[0], "malformed: is not JSON"),
        (LINES[0].decode().encode("utf-16"), "malformed: is not UTF-8"),
    ],
)
def test_an_invalid_event_has_a_reason(value, reason):
    found = event_row(value)
    assert isinstance(found, Reason)
    assert str(found).startswith(reason)
    assert len(str(found)) < 600


def test_too_large_records_are_not_decoded(monkeypatch):
    monkeypatch.setattr(event_rows, "EVENT_BYTES_MAX", len(LINES[0]) - 1)
    assert event_row(LINES[0]).code == "too_large"


def test_a_name_without_a_utf_8_form_is_a_reason():
    assert "group: must be a text" in str(event_row(LINES[0].replace(b'"group":"', b'"group":"\\ud800')))


def test_the_id_of_a_rejected_record_follows_from_its_position():
    assert rejected_id(b"v", "t", 0, 1) == rejected_id(b"v", "t", 0, 1)
    assert len({rejected_id(b"v", "t", 0, 1), rejected_id(b"v", "t", 0, 2), rejected_id(b"w", "t", 0, 1)}) == 3
