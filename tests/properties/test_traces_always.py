"""Spans of any events are well-formed, and equal events give equal spans."""

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.model.episode import Evidence, Phases
from rebalance_agent.model.events import Callback, MemberSnapshot
from rebalance_agent.model.group import GroupType
from rebalance_agent.traces.event_traces import EventTraces
from rebalance_agent.traces.span import ROOT, TIME_MS_MAX, span_id, trace_id
from support.observer.fakes import generation_event
from support.observer.views import assign_event, member_event

MOMENTS = st.integers(0, 100_000)
ANY_TIME = st.one_of(MOMENTS, st.integers(-(2**63), 2**63 - 1))
SECONDS = st.one_of(st.none(), st.floats(0, 50), st.floats(allow_nan=False, allow_infinity=False))
GENERATIONS = st.integers(-1, 6)
GROUPS = st.sampled_from(["orders", "payments"])


@st.composite
def phases(draw):
    optional = st.one_of(st.none(), MOMENTS)
    return Phases(draw(MOMENTS), Evidence.RECORD, draw(optional), Evidence.LIST, draw(optional), Evidence.RECORD)


def snapshot(name, seconds):
    return MemberSnapshot(name, None, f"client-{name}", "/h", (), {}, {}, stop_seconds=seconds)


GENERATION_EVENTS = st.builds(
    lambda **fields: generation_event(cluster_id="c", **fields),
    group=GROUPS,
    generation=st.integers(0, 6),
    episode_generation=st.integers(0, 6),
    previous_generation=st.integers(0, 6),
    group_type=st.sampled_from(GroupType),
    phases=phases(),
    members=st.dictionaries(st.text(max_size=3), st.one_of(st.none(), st.floats(0, 50)), max_size=4).map(
        lambda stops: tuple(snapshot(name, seconds) for name, seconds in stops.items())
    ),
    revision=st.integers(0, 1),
    slowest_member_id=st.one_of(st.none(), st.text(max_size=3)),
)
MEMBER_EVENTS = st.builds(
    lambda number, **fields: member_event(cluster_id="c", event_id=f"{number:032x}", sequence=number, **fields),
    number=st.integers(0, 2**64),
    callback=st.sampled_from(Callback),
    group=GROUPS,
    generation=GENERATIONS,
    process=st.sampled_from(["p1", "p2"]),
    started_ms=ANY_TIME,
    timestamp_ms=ANY_TIME,
    join_seconds=SECONDS,
    sync_seconds=SECONDS,
    stop_seconds=SECONDS,
    revision=st.integers(0, 1),
)
ASSIGN_EVENTS = st.builds(
    lambda number, **fields: assign_event(cluster_id="c", event_id=f"{number:032x}", sequence=number, **fields),
    number=st.integers(0, 2**64),
    group=GROUPS,
    generation=GENERATIONS,
    timestamp_ms=ANY_TIME,
    duration_seconds=st.floats(allow_nan=False, allow_infinity=False),
)
HISTORIES = st.lists(st.one_of(GENERATION_EVENTS, MEMBER_EVENTS, ASSIGN_EVENTS), max_size=12)


def spans_of(events):
    traces = EventTraces()
    return [traces.spans(event) for event in events]


@given(HISTORIES)
def test_spans_are_in_one_trace_of_their_group_and_generation(events):
    for event, spans in zip(events, spans_of(events), strict=True):
        assert len({span.trace_id for span in spans}) <= 1
        for span in spans:
            generation = span.attributes["kafka.rebalance.generation"]
            assert generation - event.generation in {0, 1}
            assert span.trace_id == trace_id("c", event.group, generation)


@given(HISTORIES)
def test_times_are_in_order_and_representable(events):
    for spans in spans_of(events):
        assert all(0 <= span.start_ms <= span.end_ms <= TIME_MS_MAX for span in spans)


@given(HISTORIES)
def test_parents_are_roots_or_spans_of_the_same_event(events):
    for spans in spans_of(events):
        ids = [span.span_id for span in spans]
        assert len(set(ids)) == len(ids)
        for span in spans:
            assert len(span.trace_id) == 32
            assert len(span.span_id) == 16
            assert span.parent_id in {None, span_id(span.trace_id, ROOT), *ids}
            assert (span.parent_id is None) == (span.span_id == span_id(span.trace_id, ROOT))


@given(GENERATION_EVENTS)
def test_the_root_spans_its_phases_and_is_unique(event):
    spans = spans_of([event])[0]
    within = event.previous_generation == event.generation
    assert [span.name for span in spans if span.parent_id is None] == ([] if event.revision or within else [ROOT])
    for span in spans:
        if span.name != "stop":
            assert spans[0].start_ms <= span.start_ms <= span.end_ms <= spans[0].end_ms


@given(HISTORIES)
def test_equal_events_give_equal_spans(events):
    assert spans_of(events) == spans_of(events)
