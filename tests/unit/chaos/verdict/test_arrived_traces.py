"""Traces that are lost, invented or doubled are errors, unless they were counted as dropped or went with a kill."""

from __future__ import annotations

import json
from collections import Counter
from types import SimpleNamespace

import pytest

from chaos.verdict.arrived_traces import judged
from rebalance_agent.model.event_json import json_line
from rebalance_agent.traces.group_spans import generation_spans
from support.observer.fakes import generation_event

EVENTS = [
    generation_event(
        event_id=f"{number:032}", cluster_id="c", group="orders", generation=number, previous_generation=number - 1
    )
    for number in range(1, 6)
]


@pytest.fixture
def verdict(tmp_path):
    """The verdict on spans, in words, if an observer has written ``EVENTS``; ``stopped``: events lost at its stop."""

    def judge(spans, *, killed=False, stopped=0, dropped=0, published=EVENTS):
        life = SimpleNamespace(name="observe-1", killed=killed, events=tmp_path / "events", log=tmp_path / "log")
        life.events.write_bytes(b"\n".join(map(json_line, EVENTS)))
        lost = {"event": "events_lost_at_stop", "sink": "otlp", "events": stopped}
        life.log.write_text(json.dumps(lost) + "\n" if stopped else "")
        text = f'# HELP\nrebalance_agent_events_dropped_total{{where="otlp"}} {dropped}\n'
        life.scrapes = [SimpleNamespace(text=text)]
        receiver = SimpleNamespace(done=Counter(killed=2), spans=lambda: spans)
        return judged(receiver, [life], [*map(json_line, published)])

    return judge


def root(number, process="observe-1", **other):
    span = generation_spans(EVENTS[number - 1])[0]
    event = EVENTS[number - 1].event_id
    ids = {"trace": span.trace_id, "span": span.span_id, "name": span.name, "process": process}
    return {**ids, "event": event, "digest": str(number), **other}


ALL = [root(number) for number in range(1, 6)]


def test_each_rebalance_has_one_trace_and_a_request_that_was_sent_again_is_no_error(verdict):
    found = verdict([*ALL, ALL[0]])
    assert found.wrong == ()
    assert "5 rebalances in the topic, 5 as one trace each" in found.what
    assert "1 root spans arrived again" in found.what
    assert "killed 2 times" in found.what


@pytest.mark.parametrize(
    ("spans", "wrong"),
    [
        ([], "no trace of a rebalance arrived"),
        (ALL[:4], "observe-1 lost 1 rebalances, and counted 0"),
        ([*ALL, root(5, digest="other")], "observe-1 wrote 2 versions"),
        ([*ALL, root(5, span="other")], "several root spans"),
        ([*ALL[:4], root(5, trace="other")], "another trace"),
        ([*ALL, root(5, event="other")], "other has a trace, but no event"),
    ],
)
def test_a_lost_doubled_or_invented_trace_is_an_error(verdict, spans, wrong):
    assert any(wrong in each for each in verdict(spans).wrong)


@pytest.mark.parametrize("counts", [{"stopped": 1}, {"dropped": 1}])
def test_as_many_traces_may_be_missing_as_were_counted(verdict, counts):
    assert verdict(ALL[1:], **counts).wrong == ()
    assert len(verdict(ALL[2:], **counts).wrong) == 1


def test_a_killed_observer_may_lose_its_last_traces_only(verdict):
    assert verdict(ALL[:3], killed=True).wrong == ()
    assert "2 with killed observers" in verdict(ALL[:3], killed=True).what
    assert verdict([*ALL[:2], ALL[3]], killed=True).wrong == (f"traces: {EVENTS[2].event_id} has no trace",)


def test_a_restarted_observer_may_send_the_same_rebalance_in_another_version(verdict):
    assert verdict([*ALL, root(5, "observe-2", digest="other")]).wrong == ()
