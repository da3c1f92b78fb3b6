"""The size of /metrics in bytes: of one group, of all groups, and with names chosen to fill the page."""

import itertools
from dataclasses import replace

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.groups_page import GroupsPage
from rebalance_agent.metrics.export.member_metrics import MemberMetrics
from rebalance_agent.metrics.group_metric import SeriesLimits
from rebalance_agent.model.episode import Basis
from rebalance_agent.model.events import Callback
from rebalance_agent.tracking.evidence.known_times import Departure
from rebalance_agent.tracking.patterns.costly_members import AWAITED_MAX, DEPARTED_MAX, AwaitedMember, DepartedMember
from rebalance_agent.tracking.views import MemberLoad
from support.observer.pages import observer_agent, observer_phases
from support.observer.scrapes import families, values
from support.observer.views import NOW, assign_event, full_view, member_event

LONG = 32_000
DAMAGED = '"' * 300
"""Quotes, like backslashes and line ends, grow most of all characters in a label: to twice their bytes."""

GROUP_BYTES_MAX = 410_000
SIDECAR_BYTES_MAX = 11_500_000
HEADERS_BYTES = 30_000


pytestmark = pytest.mark.no_cover  # long pages from lines that other tests of metrics cover


def page(views, **limits):
    views = tuple(views)
    page = GroupsPage(lambda: views, FakeClock(NOW), SeriesLimits(**limits))
    page.refresh()
    return page


def greedy_view(number=0):
    """A group with the longest allowed names, and more members than have their own series."""
    name = f"{number:05}{DAMAGED}"
    members = tuple(
        MemberLoad(f"m{each}", None, f"c{each}{DAMAGED}", f"h{each}{DAMAGED}", {f"t{each}{DAMAGED}": (0,)}, 1.0)
        for each in range(120)
    )
    view = full_view(name)
    stalls = dict.fromkeys(Basis, view.counters.stalls[Basis.BOUND])
    return replace(
        view,
        members=members,
        assignor=DAMAGED,
        counters=replace(view.counters, stalls=stalls),
        topic_spread=tuple((f"t{each}{DAMAGED}", 0.5) for each in range(9)),
        awaited=tuple(AwaitedMember(f"w{each}{DAMAGED}", DAMAGED, 1.0, NOW) for each in range(AWAITED_MAX)),
        departed=tuple(
            DepartedMember(f"d{each}{DAMAGED}", DAMAGED, Departure.FAILED, 1, NOW) for each in range(DEPARTED_MAX)
        ),
    )


@pytest.mark.parametrize("number", [50, 200])
def test_long_names_of_groups_make_no_large_page(number):
    found = page(full_view(f"{each:05}{'x' * (LONG - 5)}") for each in range(number))
    assert len(found.text()) < 34_000 * number + HEADERS_BYTES
    assert found.shortened == number


def test_series_of_names_with_the_same_prefix_are_distinguished():
    text = page(full_view(f"{'x' * LONG}{each}") for each in range(20)).text()
    assert len([key for key in values(text) if key[0] == "kafka_rebalance_generation"]) == 20


def test_each_shortened_name_is_counted_once():
    view = full_view(
        "orders", awaited=(AwaitedMember("c" * 250, "h", 1.0, NOW),), topic_spread=(("t" * 249, 0.5), ("u" * 300, 0.5))
    )
    members = (*view.members, *(MemberLoad("m", None, "c" * 250, f"/{'h' * 251}", {}, 1.0),) * 3)
    assert page([replace(view, members=members), full_view("g" * 250)]).shortened == 4
    assert page([full_view()]).shortened == 0


@pytest.mark.parametrize("dialect", Dialect)
def test_a_group_has_at_most_this_many_bytes(dialect):
    text = page([greedy_view()]).text(dialect)
    assert GROUP_BYTES_MAX * 0.9 < len(text) - HEADERS_BYTES < GROUP_BYTES_MAX


@pytest.mark.parametrize("dialect", Dialect)
def test_the_page_cannot_have_more_bytes_than_its_limit(dialect):
    found = page(map(greedy_view, range(20)), page_bytes_max=2_000_000)
    text = found.text(dialect)
    assert 1_500_000 < len(text) < 2_000_000 + HEADERS_BYTES
    shown = len([key for key in values(text) if key[0] == "kafka_rebalance_generation"]) if dialect.end == b"" else None
    assert shown in (None, 20 - found.left_out)


def test_groups_that_fill_the_page_are_omitted_and_not_the_others():
    usual = [full_view(f"usual-{each}") for each in range(60)]
    text = page([*map(greedy_view, range(5)), *usual], page_bytes_max=1_500_000)
    assert text.left_out == 3
    shown = {each.labels["consumergroup"] for each in families(text.text())["kafka_rebalance_generation"].samples}
    assert {view.group for view in usual} <= shown


def test_an_omitted_group_is_shown_when_there_is_room():
    views = [tuple(map(greedy_view, range(5)))]
    found = GroupsPage(lambda: views[0], FakeClock(NOW), SeriesLimits(page_bytes_max=1_000_000))
    found.refresh()
    assert found.left_out == 3
    views[0] = views[0][:2]
    for _ in range(2):
        found.refresh()
    assert (found.left_out, found.text().count(b"kafka_rebalance_generation{")) == (0, 2)
    views[0] = views[0][:1]
    found.refresh()
    assert found.text().count(b"kafka_rebalance_generation{") == 1


def test_a_group_that_shrinks_is_shown_again_at_once():
    views = [(greedy_view(), full_view("usual"))]
    found = GroupsPage(lambda: views[0], FakeClock(NOW), SeriesLimits(page_bytes_max=100_000))
    found.refresh()
    assert found.left_out == 1
    views[0] = (full_view(views[0][0].group, version=8), views[0][1])
    assert found.text().count(b"kafka_rebalance_generation{") == 2


def test_an_observers_own_metrics_are_small():
    assert len(observer_agent()) + len(observer_phases()) < HEADERS_BYTES


def test_a_sidecar_has_at_most_this_many_bytes():
    metrics = MemberMetrics(FakeClock(NOW))
    sequences = itertools.count(1)
    waits = {"stop_seconds": 1.0, "join_seconds": 1.0, "sync_seconds": 1.0, "reprocessed_records": 1}
    for each in range(60):
        names = {"group": f"{each:05}{DAMAGED}", "client_id": f"{each:05}{DAMAGED}"}
        for callback in (Callback.ASSIGNED, Callback.REVOKED, Callback.LOST, Callback.ASSIGNED):
            metrics.observe([member_event(callback, next(sequences), **waits, **names)])
        metrics.observe(
            [assign_event(next(sequences), assignor=f"{assignor}{DAMAGED}", **names) for assignor in range(12)]
        )
    assert SIDECAR_BYTES_MAX * 0.9 < len(metrics.text()) < SIDECAR_BYTES_MAX
    assert metrics.shortened == 50 + 10
