import pytest

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import Callback
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.traces.event_traces import EventTraces
from rebalance_agent.traces.member_spans import MEMBERS_MAX, STEPS_MAX, MemberSpans, assign_spans
from rebalance_agent.traces.span import ROOT, TIME_MS_MAX, span_id, trace_id
from support.observer.fakes import generation_event
from support.observer.views import assign_event, member_event


def event(callback, generation=2, started_ms=1_000, ended_ms=1_200, sequence=1, **fields):
    fields = {"cluster_id": "c", "event_id": f"{sequence:032}", **fields}
    return member_event(
        callback, sequence, generation=generation, started_ms=started_ms, timestamp_ms=ended_ms, **fields
    )


REVOKED = event(Callback.REVOKED, 2, 1_000, 1_200, 1, reason="metadata changed")
ASSIGNED = event(Callback.ASSIGNED, 3, 5_000, 5_050, 2, join_seconds=3.0, sync_seconds=0.5, where=Workload("pod-1"))


def by_name(spans):
    return {span.name: span for span in spans}


def test_a_members_rebalance_is_complete_with_its_assigned_callback():
    members = MemberSpans()
    assert members.spans(REVOKED) == ()
    spans = members.spans(ASSIGNED)
    assert [(span.name, span.start_ms, span.end_ms) for span in spans] == [
        ("member", 1_000, 5_050),
        ("revoked", 1_000, 1_200),
        ("join", 1_500, 4_500),
        ("sync", 4_500, 5_000),
        ("assigned", 5_000, 5_050),
    ]
    trace = trace_id("c", "orders", 3)
    assert {span.trace_id for span in spans} == {trace}
    assert spans[0].parent_id == span_id(trace, ROOT)
    assert {span.parent_id for span in spans[1:]} == {spans[0].span_id}
    assert spans[1].attributes["kafka.rebalance.reason"] == "metadata changed"
    assert {span.attributes["k8s.pod.name"] for span in spans} == {"pod-1"}
    assert not any(span.error for span in spans)


def test_sent_spans_are_not_repeated():
    members = MemberSpans()
    members.spans(REVOKED)
    members.spans(ASSIGNED)
    again = members.spans(event(Callback.ASSIGNED, 4, 9_000, 9_010, 3))
    assert [span.name for span in again] == ["member", "assigned"]


def test_members_of_one_process_are_separate():
    members = MemberSpans()
    members.spans(REVOKED)
    assert [span.name for span in members.spans(event(Callback.ASSIGNED, 3, client_id="other"))] == [
        "member",
        "assigned",
    ]
    assert "revoked" in by_name(members.spans(ASSIGNED))


@pytest.mark.parametrize("callback", [Callback.LOST, Callback.LEFT])
def test_a_member_that_departs_belongs_to_the_generation_that_follows(callback):
    members = MemberSpans()
    members.spans(REVOKED)
    spans = members.spans(event(callback, 2, 3_000, 3_100, 2))
    assert {span.trace_id for span in spans} == {trace_id("c", "orders", 3)}
    failed = {span.name for span in spans if span.error}
    assert failed == ({"member", "lost"} if callback is Callback.LOST else set())


def test_a_failed_callback_is_an_error_of_its_span_and_of_the_members():
    members = MemberSpans()
    members.spans(event(Callback.REVOKED, 2, error="ValueError: no"))
    spans = by_name(members.spans(ASSIGNED))
    assert spans["member"].error == spans["revoked"].error == "ValueError: no"
    assert spans["assigned"].error is None


def test_a_gateways_stop_comes_before_the_join():
    spans = MemberSpans().spans(event(Callback.ASSIGNED, 3, 5_000, 5_400, stop_seconds=0.25, evidence=Evidence.GATEWAY))
    assert by_name(spans)["stop"].start_ms == 4_750
    assert by_name(spans)["assigned"].attributes["kafka.rebalance.evidence"] == "gateway"


def test_without_a_generation_there_is_no_trace():
    members = MemberSpans()
    members.spans(REVOKED)
    assert members.spans(event(Callback.ASSIGNED, -1)) == ()
    assert [span.name for span in members.spans(ASSIGNED)] == ["member", "join", "sync", "assigned"]


def test_an_event_that_only_adds_a_reason_changes_nothing():
    members = MemberSpans()
    members.spans(REVOKED)
    assert members.spans(event(Callback.REVOKED, 2, revision=1)) == ()
    assert [span.name for span in members.spans(ASSIGNED)].count("revoked") == 1


@pytest.mark.parametrize(
    "odd",
    [
        {"started_ms": -5, "ended_ms": 10},
        {"started_ms": 2_000, "ended_ms": 1_000},
        {"started_ms": 2**62, "ended_ms": 2**62},
        {"started_ms": 10, "ended_ms": TIME_MS_MAX + 1},
    ],
)
def test_impossible_times_give_no_span(odd):
    assert MemberSpans().spans(event(Callback.ASSIGNED, 3, **odd)) == ()


def test_an_impossible_duration_gives_no_span():
    spans = MemberSpans().spans(event(Callback.ASSIGNED, 3, 5_000, 5_100, join_seconds=1e308))
    assert [span.name for span in spans] == ["member", "assigned"]


def test_waiting_members_are_bounded(monkeypatch):
    monkeypatch.setattr("rebalance_agent.traces.member_spans.MEMBERS_MAX", 2)
    members = MemberSpans()
    for process in ("p1", "p2", "p3"):
        members.spans(event(Callback.REVOKED, 2, process=process))
    names = {
        process: {span.name for span in members.spans(event(Callback.ASSIGNED, 3, process=process))}
        for process in ("p1", "p2", "p3")
    }
    assert "revoked" not in names["p1"]
    assert "revoked" in names["p2"] & names["p3"]
    assert MEMBERS_MAX > 2


def test_waiting_spans_of_one_member_are_bounded():
    members = MemberSpans()
    for sequence in range(1_000):
        members.spans(event(Callback.REVOKED, 2, sequence=sequence))
    assert len(members.spans(ASSIGNED)) == STEPS_MAX + 1


def test_the_leaders_assignor_has_a_span():
    (span,) = assign_spans(
        assign_event(cluster_id="c", generation=3, timestamp_ms=4_800, duration_seconds=0.02, error="boom")
    )
    trace = trace_id("c", "orders", 3)
    assert (span.trace_id, span.parent_id, span.name) == (trace, span_id(trace, ROOT), "assignor")
    assert (span.start_ms, span.end_ms, span.error) == (4_780, 4_800, "boom")
    assert span.attributes["kafka.rebalance.assignor"] == "weighted-sticky"
    assert assign_spans(assign_event(generation=-1)) == ()
    assert assign_spans(assign_event(generation=3, timestamp_ms=-1)) == ()


def test_observer_and_sidecar_write_the_same_trace_independently():
    generation = generation_event(cluster_id="c", group="orders", generation=3, episode_generation=3)
    of_observer = EventTraces().spans(generation)
    sidecar = EventTraces()
    of_sidecar = sidecar.spans(REVOKED) + sidecar.spans(ASSIGNED)
    assert {span.trace_id for span in of_observer} == {span.trace_id for span in of_sidecar}
    (root,) = (span for span in of_observer if span.parent_id is None)
    assert of_sidecar[0].parent_id == root.span_id
