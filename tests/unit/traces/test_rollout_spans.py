from dataclasses import replace

from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.traces.event_traces import EventTraces
from rebalance_agent.traces.rollout_spans import LINKS_MAX, RolloutSpans
from rebalance_agent.traces.span import ROOT, Link, span_id, trace_id
from support.observer.fakes import generation_event


def rollout(first=2, last=4, **fields):
    event = RolloutEvent(
        "b" * 32, "c", "orders", 2_000, Source.RECORDS, GroupType.CLASSIC, 900, first, last, True, 2, 3, 3, 8.0
    )
    return replace(event, **fields)


def test_a_rollout_links_to_each_of_its_rebalances():
    (span,) = RolloutSpans().spans(rollout())
    assert (span.trace_id, span.name, span.start_ms, span.end_ms) == ("b" * 32, "rollout", 900, 2_000)
    third = trace_id("c", "orders", 3)
    assert Link(third, span_id(third, ROOT)) in span.links
    assert [link.trace_id for link in span.links] == [trace_id("c", "orders", each) for each in (2, 3, 4)]
    assert "kafka.rollout.workload" not in span.attributes


def test_the_links_of_a_rollout_are_bounded_and_a_running_one_has_no_span():
    (span,) = RolloutSpans().spans(rollout(1, 10**9))
    assert len(span.links) == LINKS_MAX
    assert span.links[-1].trace_id == trace_id("c", "orders", 10**9)
    assert RolloutSpans().spans(rollout(closed=False)) == ()


def test_a_rebalance_links_to_the_rollout_that_runs_in_its_group():
    traces = EventTraces()

    def linked(**fields):
        return [link.trace_id for link in traces.spans(generation_event(**fields))[0].links]

    assert linked(group="orders") == []
    traces.spans(rollout(closed=False))
    assert (linked(group="orders"), linked(group="other")) == (["b" * 32], [])
    (span,) = traces.spans(rollout(revision=1))
    assert linked(group="orders") == [], "the rollout has ended"
    traces.spans(rollout(closed=False))
    (link,) = traces.spans(generation_event(group="orders"))[0].links
    assert link == Link(span.trace_id, span.span_id)
