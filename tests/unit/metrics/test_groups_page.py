from dataclasses import replace

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.metrics.export import groups_page
from rebalance_agent.metrics.export.groups_page import GroupsPage
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.group_metric import SeriesLimits
from rebalance_agent.metrics.group_samples import group_samples
from rebalance_agent.model.episode import Basis
from rebalance_agent.tracking.views import StallHistogram
from support.observer.scrapes import families, promtool_says, values
from support.observer.views import NOW, full_view


@pytest.fixture
def clock():
    return FakeClock(NOW)


@pytest.fixture
def rendered(monkeypatch):
    seen = []

    def spy(view, limits):
        seen.append(view.group)
        return group_samples(view, limits)

    monkeypatch.setattr(groups_page, "group_samples", spy)
    return seen


def generations(page):
    return {key[1]: value for key, value in values(page.text()).items() if key[0] == "kafka_rebalance_generation"}


def test_a_group_is_rendered_again_only_when_its_version_rises(clock, rendered):
    views = [full_view("a"), full_view("b")]
    page = GroupsPage(lambda: views, clock)
    page.text()
    page.text()
    assert rendered == ["a", "b"]
    views[1] = replace(views[1], version=8, generation=3)
    assert generations(page) == {"a": 2, "b": 3}
    assert rendered == ["a", "b", "b"]


def test_after_a_refresh_a_scrape_renders_nothing(clock, rendered):
    page = GroupsPage(lambda: [full_view("a")], clock)
    page.refresh()
    rendered.clear()
    page.text()
    assert rendered == []


def test_a_refresh_writes_a_bounded_number_of_groups(clock, rendered, monkeypatch):
    monkeypatch.setattr(groups_page, "REFRESHED_MAX", 2)
    page = GroupsPage(lambda: [full_view(name) for name in "abc"], clock)
    assert [page.refresh(), page.refresh(), page.refresh()] == [True, False, False]
    assert rendered == ["a", "b", "c"]


def test_groups_that_change_all_the_time_keep_no_others_from_being_written(clock, rendered, monkeypatch):
    monkeypatch.setattr(groups_page, "REFRESHED_MAX", 2)
    versions = iter(range(8, 100))
    page = GroupsPage(lambda: [*(full_view(name, version=next(versions)) for name in "abc"), full_view("z")], clock)
    for _ in range(2):
        assert page.refresh()
    assert rendered == ["a", "b", "c", "z"]


def test_unchanged_views_are_not_checked_again(clock, monkeypatch):
    looked = []
    views = (full_view("a"), full_view("b"))
    page = GroupsPage(lambda: views, clock)
    page.refresh()
    monkeypatch.setattr(page, "_current", lambda view: looked.append(view.group))
    page.refresh()
    assert looked == []
    views = (*views, full_view("c"))
    page.refresh()
    assert looked == ["c"]


def test_groups_postponed_by_a_scrape_are_rendered_although_the_views_are_unchanged(clock, monkeypatch):
    monkeypatch.setattr(groups_page, "WRITTEN_BY_SCRAPE_MAX", 1)
    views = (full_view("a"), full_view("b"))
    page = GroupsPage(lambda: views, clock)
    assert generations(page) == {"a": 2}
    assert generations(page) == {"a": 2, "b": 2}


def test_a_scrape_renders_some_groups_and_leaves_the_rest_to_the_refresh(clock, rendered, monkeypatch):
    monkeypatch.setattr(groups_page, "WRITTEN_BY_SCRAPE_MAX", 2)
    page = GroupsPage(lambda: [full_view(name) for name in "abc"], clock)
    assert generations(page) == {"a": 2, "b": 2}
    page.refresh()
    assert rendered == ["a", "b", "c"]
    assert generations(page) == {"a": 2, "b": 2, "c": 2}


def test_a_scrape_does_not_wait_for_a_rendering_thread(clock, monkeypatch):
    page = GroupsPage(lambda: [full_view("a"), full_view("b")], clock)
    scraped = []

    def scrape_meanwhile(view, limits):
        scraped.append(set(generations(page)))
        return group_samples(view, limits)

    monkeypatch.setattr(groups_page, "group_samples", scrape_meanwhile)
    page.refresh()
    assert scraped == [set(), {"a"}]


def test_a_removed_group_has_no_series(clock):
    views = [full_view("a"), full_view("b")]
    page = GroupsPage(lambda: views, clock)
    page.text()
    views.pop(0)
    assert generations(page) == {"b": 2}
    assert b'"a"' not in page.text()


def test_a_returning_group_is_rendered_although_its_view_is_unchanged(clock, monkeypatch):
    monkeypatch.setattr(groups_page, "WRITTEN_BY_SCRAPE_MAX", 1)
    a, b, c, d = (full_view(name) for name in "abcd")
    views = (a, b)
    page = GroupsPage(lambda: views, clock)
    page.refresh()
    views = (a, c, d)
    assert generations(page) == {"a": 2, "c": 2}
    views = (a, b, c, d)
    page.refresh()
    assert generations(page) == dict.fromkeys("abcd", 2)


def test_a_group_that_was_created_again_is_not_mistaken_for_the_old_one(clock):
    views = [full_view("a")]
    page = GroupsPage(lambda: views, clock)
    page.text()
    views[0] = replace(views[0], first_seen_ms=NOW, generation=0)
    assert generations(page) == {"a": 0}


def test_ages_and_partition_seconds_advance_between_changes(clock, rendered):
    page = GroupsPage(lambda: [full_view("a")], clock)
    clock.advance(10_000)
    before = values(page.text())
    clock.advance(2_000)
    after = values(page.text())
    assert rendered == ["a"]
    changed = {key[0]: pytest.approx(after[key] - before[key]) for key in before if after[key] != before[key]}
    assert changed == {
        "kafka_rebalance_in_progress_seconds": 2,
        "kafka_rebalance_group_stalled_seconds_total": 2,
        "kafka_rebalance_stalled_partition_seconds_total": 12,
        "kafka_rebalance_partition_seconds_total": 12,
    }


def test_groups_are_sorted_by_name(clock):
    names = ["b", "a", "c"]
    one = GroupsPage(lambda: [full_view(name) for name in names], clock).text()
    page = GroupsPage(lambda: [full_view(name) for name in names], clock)
    names.reverse()
    assert page.text() == one


def test_the_page_is_empty_without_groups(clock):
    assert GroupsPage(list, clock).text() == b""


def test_the_number_of_merged_members_covers_all_groups(clock):
    page = GroupsPage(lambda: [full_view("a"), full_view("b")], clock, SeriesLimits(max_member_series=1))
    page.text()
    assert page.folded == 2


def test_names_with_special_characters_keep_the_page_valid(clock):
    names = ['a"b', "a\\", "a\n# TYPE x counter", "x" * 300, "a\0"]
    text = GroupsPage(lambda: [full_view(name) for name in names], clock, text=TextFormat("prod")).text()
    assert len(families(text)["kafka_rebalance_generation"].samples) == 5
    assert promtool_says(text) == ""


LATE = {
    ("kafka_rebalance_failed_total", "g", "assign_error"),
    ("kafka_rebalance_doubly_owned_partition_seconds_total", "g"),
    ("kafka_rebalance_stall_seconds_sum", "g", "exact"),
    ("kafka_rebalance_stall_seconds_count", "g", "exact"),
}
"""Series that a group has only when members report."""


def silent(view):
    """The same group before any member reported."""
    stalls = {basis: stalls for basis, stalls in view.counters.stalls.items() if basis is not Basis.EXACT}
    counters = replace(view.counters, assign_errors=None, doubly_owned_partition_seconds=None, stalls=stalls)
    return replace(view, counters=counters, version=view.version - 1)


def late(page):
    return {key: value for key, value in values(page.text()).items() if key in LATE}


@pytest.fixture
def reporting():
    """A group with a count in each of these series."""
    view = full_view("g")
    counters = replace(
        view.counters,
        assign_errors=2,
        doubly_owned_partition_seconds=3.5,
        stalls={basis: StallHistogram((0, 0, 1, *[0] * 8), 0.4) for basis in Basis},
    )
    return replace(view, counters=counters)


def test_counters_that_begin_with_reports_are_0_in_the_first_scrape_that_has_them(clock, reporting):
    views = [silent(reporting)]
    page = GroupsPage(lambda: tuple(views), clock)
    assert late(page) == {}
    views[0] = reporting
    page.refresh()
    assert late(page) == dict.fromkeys(LATE, 0)
    assert sorted(late(page).values()) == [0.4, 1, 2, 3.5]
    assert sorted(late(page).values()) == [0.4, 1, 2, 3.5]


def test_other_series_have_their_values_in_that_scrape(clock, reporting):
    views = [silent(reporting)]
    page = GroupsPage(lambda: tuple(views), clock)
    page.text()
    views[0] = reporting
    before = {key: value for key, value in values(page.text()).items() if key not in LATE and "exact" not in key}
    after = {key: value for key, value in values(page.text()).items() if key not in LATE and "exact" not in key}
    assert before == after


def test_new_series_stay_0_until_a_scrape_has_them(clock, reporting):
    views = [silent(reporting)]
    page = GroupsPage(lambda: tuple(views), clock)
    page.text()
    for version in range(8, 11):
        views[0] = replace(reporting, version=version)
        page.refresh()
    assert set(late(page).values()) == {0}


def test_a_group_never_scraped_before_has_all_its_values_at_once(clock, reporting):
    views = [silent(reporting)]
    page = GroupsPage(lambda: tuple(views), clock)
    page.refresh()
    views[0] = reporting
    page.refresh()
    assert sorted(late(page).values()) == [0.4, 1, 2, 3.5]


def test_an_unchanged_group_is_not_rendered_again(clock, rendered, reporting):
    page = GroupsPage(lambda: (reporting,), clock)
    page.text()
    page.text()
    page.text()
    assert rendered == ["g"]
