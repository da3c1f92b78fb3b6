"""Invariants of every page, for all views, names and bodies, also hostile ones."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.api.events_endpoint import EventsApp
from rebalance_agent.clock import FakeClock
from rebalance_agent.http.events_post import EVENTS_PATH
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.groups_page import GroupsPage
from rebalance_agent.metrics.group_metric import SeriesLimits
from rebalance_agent.metrics.group_samples import group_samples, running_samples
from rebalance_agent.metrics.group_values import MEMBERS_SHOWN_SECONDS
from rebalance_agent.metrics.metric import MetricType
from rebalance_agent.model.episode import Source
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.group import STATES, GroupType
from rebalance_agent.tracking.patterns.costly_members import AWAITED_MAX, AwaitedMember
from rebalance_agent.tracking.patterns.empty_groups import EmptyGroup, UnownedPartitions, UnownedReason, UnownedTime
from rebalance_agent.tracking.patterns.group_stalls import Limit, StalledTime
from rebalance_agent.tracking.views import MemberLoad
from support.http.asked import ask
from support.observer.scrapes import families
from support.observer.views import NOW, full_view, member_event

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
members = st.lists(
    st.builds(
        MemberLoad,
        member_id=st.just("m"),
        instance_id=st.none(),
        client_id=names,
        host=names,
        assigned=st.dictionaries(names, st.lists(st.integers(0, 99), max_size=5).map(tuple), max_size=3),
    ),
    max_size=8,
).map(tuple)


@st.composite
def views(draw):
    group_type = draw(st.sampled_from(GroupType))
    return full_view(
        draw(names),
        group_type,
        state=draw(st.sampled_from(STATES[group_type])),
        members=draw(members),
        assignor=draw(st.none() | names),
        topic_spread=tuple(draw(st.dictionaries(names, st.floats(0, 1), max_size=8)).items()),
        awaited=tuple(
            AwaitedMember(*labels, 2.5, NOW - ago_ms)
            for labels, ago_ms in draw(
                st.dictionaries(st.tuples(names, names), st.integers(0, 4_000_000), max_size=AWAITED_MAX)
            ).items()
        ),
    )


@given(st.lists(views(), max_size=4), st.integers(1, 4))
def test_every_page_is_well_formed_with_unchanged_names(found, bound):
    limits = SeriesLimits(max_member_series=bound, top_topics=bound)
    found = list({view.group: view for view in found}.values())
    text = GroupsPage(lambda: found, FakeClock(NOW), limits).text()
    shown = families(text)
    groups = {view.group for view in found}
    for family in shown.values():
        assert {sample.labels["consumergroup"] for sample in family.samples} <= groups
    if found:
        assert {each.labels["consumergroup"] for each in shown["kafka_rebalance_generation"].samples} == groups


@given(views(), st.integers(1, 8))
def test_merging_loses_no_member_and_keeps_the_bound(view, bound):
    by_metric = {metric.name: each for metric, each in group_samples(view, SeriesLimits(bound)).by_metric.items()}
    owners = by_metric["kafka_rebalance_owner_members"]
    assert sum(members for _, members in owners) == len(view.members)
    assert len(owners) <= bound + 1
    most = max((partitions for _, partitions in by_metric["kafka_rebalance_owner_partitions"]), default=0)
    assert most == max((sum(map(len, member.assigned.values())) for member in view.members), default=0)


@given(st.integers(-(10**12), 10**12), st.integers(0, 10**12))
def test_running_counters_never_fall(start, later):
    counters = [
        {
            (metric.name, labels): value
            for metric, values in running_samples(full_view(), now)
            if metric.kind is MetricType.COUNTER
            for labels, value in values
        }
        for now in (NOW + start, NOW + start + later)
    ]
    assert len(counters[0]) == 6  # of four counters, two of which have a label of two values
    assert all(counters[0][series] <= counters[1][series] for series in counters[0])


@given(views())
def test_the_cached_page_equals_a_newly_rendered_one(view):
    held = [view]
    clock = FakeClock(NOW)
    page = GroupsPage(lambda: held, clock)
    page.text()
    held[0] = replace(view, version=view.version + 1, generation=9, topic_spread=(), members=())
    clock.advance(12_345)
    assert page.text() == GroupsPage(lambda: held, clock).text()


STALLED = StalledTime(seconds=dict.fromkeys(Limit, 3.0))
AT_REST = {"running": None, "empty": None, "unowned": UnownedTime(), "stalled_time": STALLED}
CHANGED = st.sampled_from(
    [
        {},
        {"running": full_view().running},
        {"empty": EmptyGroup(NOW - 5_000, 2, 6), "members": ()},
        {"unowned": UnownedTime(NOW, now=UnownedPartitions(UnownedReason.UNASSIGNED, 2))},
        {"stalled_time": replace(STALLED, since_ms=NOW - 20_000)},
    ]
)
MORE = st.fixed_dictionaries(
    {"source": st.sampled_from(Source)},
    optional={"partitions": st.none(), "awaited": st.just(())},
)


@given(views(), CHANGED, MORE, st.lists(st.integers(0, 2 * MEMBERS_SHOWN_SECONDS * 1000), min_size=1, max_size=3))
def test_a_page_has_the_values_of_its_time_although_no_view_changed(view, changed, more, waits):
    held = [replace(view, **AT_REST | more | changed)]
    assert held[0].at_rest is not bool(changed)
    clock = FakeClock(NOW)
    page = GroupsPage(lambda: held, clock)
    page.text()
    for wait_ms in waits:
        clock.advance(wait_ms)
        for dialect in Dialect:
            assert page.text(dialect) == GroupsPage(lambda: held, clock).text(dialect)


bodies = st.lists(
    st.just(json_line(member_event()))
    | st.binary(max_size=50)
    | st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(names, inner))
    .map(json.dumps)
    .map(str.encode),
    max_size=4,
).map(b"\n".join)


@given(bodies)
def test_a_body_is_accepted_completely_or_not_at_all(body):
    accepted = []
    app = EventsApp(lambda events, _dropped: accepted.append(events), FakeClock())
    status, _, answer = ask(app, EVENTS_PATH, "POST", body, content_length=str(len(body)))
    answer = json.loads(answer)
    lines = [line for line in body.split(b"\n") if line.strip()]
    if status == 200:
        assert answer == {"accepted": len(lines)}
        assert [len(events) for events in accepted] == [len(lines)]
    else:
        assert status == 400
        assert body.split(b"\n")[answer["line"] - 1].strip()
        assert accepted == []
