import re
from dataclasses import replace

import pytest

from rebalance_agent.api.view_shapes import build_summary
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupState
from rebalance_agent.tracking.views import RunningRebalance
from rebalance_agent.ui.page.group_list import PAGE_ROWS, FleetSummary, ListQuery, group_link, listing, parsed_query
from rebalance_agent.ui.page.trouble import RecentRebalances
from support.observer.views import NOW, full_view

WELL = build_summary(full_view(running=None))


def drawn(groups, want, *, past=(), total=None):
    """The content of the page."""
    return listing(FleetSummary(groups, total or len(groups), dict(past), NOW), want)[1]


def named(name, **changes):
    return replace(WELL, group=name, **changes)


def shown(html):
    """Names of groups in the order of the page."""
    return re.findall(r'<th scope="row"><a href="[^"]*">([^<]*)</a>', html)


GROUPS = (
    named("calm"),
    named("skewed", skew_ratio=3.0),
    named("bare", unassigned=2),
    named("busy", running=RunningRebalance(NOW - 1_000, 6), state=GroupState.PREPARING_REBALANCE),
)


@pytest.mark.parametrize(
    ("want", "order"),
    [
        (ListQuery(), ["bare", "busy", "skewed", "calm"]),
        (ListQuery(sort="-worst"), ["calm", "skewed", "busy", "bare"]),
        (ListQuery(sort="group"), ["bare", "busy", "calm", "skewed"]),
        (ListQuery(sort="-skew"), ["skewed", "bare", "busy", "calm"]),
        (ListQuery(sort="-hour"), ["calm", "bare", "busy", "skewed"]),
        (ListQuery(match="B"), ["bare", "busy"]),
        (ListQuery(match="*d"), ["skewed"]),
        (ListQuery(state="running"), ["busy"]),
        (ListQuery(state="Stable"), ["bare", "skewed", "calm"]),
        (ListQuery(match="nobody"), []),
    ],
)
def test_groups_are_filtered_and_sorted_by_the_query(want, order):
    assert shown(drawn(GROUPS, want, past={"calm": RecentRebalances(hour=3)})) == order


def test_pages_link_to_each_other_and_keep_the_query():
    groups = [named(f"group-{number:04}") for number in range(2 * PAGE_ROWS + 1)]
    first = drawn(groups, ListQuery(sort="group", match="group"))
    assert len(shown(first)) == PAGE_ROWS
    assert 'rel="prev"' not in first
    assert '<a rel="next" href="./?match=group&amp;sort=group&amp;offset=100">' in first
    last = drawn(groups, ListQuery(sort="group", match="group", offset=2 * PAGE_ROWS))
    assert shown(last) == ["group-0200"]
    assert 'rel="next"' not in last
    assert "201 to 201 of 201 groups" in last


def test_a_page_of_two_thousand_groups_stays_small():
    groups = [named(f"a-service-with-a-name-of-usual-length-{number:04}") for number in range(2_000)]
    assert len(drawn(groups, ListQuery())) < 100_000


def test_unknown_values_are_shown_as_unknown():
    polled = named("polled", skew_ratio=None, last=None, source=Source.ADMIN)
    html = drawn([polled], ListQuery())
    assert '<span class="unknown">unknown</span>' in html
    assert "only polled" in html
    assert html.count("none yet") == 2


def test_groups_with_problems_are_on_top_and_critical_ones_in_the_title():
    fleet = FleetSummary(GROUPS, len(GROUPS), {"calm": RecentRebalances(9, 9), "busy": RecentRebalances(30)}, NOW)
    title, html = listing(fleet, ListQuery())
    assert shown(html) == ["bare", "busy", "calm", "skewed"]
    assert title == "1 critical group"
    critical = [named(name, unassigned=1) for name in ("bare", "other")]
    assert listing(fleet._replace(groups=critical), ListQuery())[0] == "2 critical groups"
    assert listing(fleet._replace(groups=[]), ListQuery())[0] == "groups"


def test_groups_beyond_the_shown_maximum_are_counted():
    assert "This page lists the first" not in drawn(GROUPS, ListQuery())
    html = drawn(GROUPS, ListQuery(), total=10_004)
    assert "<dd>10,004</dd>" in html
    assert "This page lists the first 4 groups by name. 10,000 more are only in the API." in html


def test_no_groups_and_no_matching_groups_are_distinguished():
    assert "No groups yet" in drawn([], ListQuery())
    assert "None of the 4 groups matches" in drawn(GROUPS, ListQuery(match="zzz"))


def test_names_are_escaped_in_text_and_addresses():
    html = drawn([named('<img src=x>"&\n../..')], ListQuery(match='"><b>'))
    assert "<img" not in html
    assert "<b>" not in html
    assert shown(drawn([named("<i>")], ListQuery())) == ["&lt;i&gt;"]
    assert group_link("../a/b c?d&e") == "group?name=..%2Fa%2Fb%20c%3Fd%26e"


def test_a_name_that_no_url_can_contain_has_a_short_link():
    for name in ("a" * 5_000, "a" * 32_767, "ü" * 16_000):
        assert shown(drawn([named(name)], ListQuery())) == [name[:119] + "…"]
        assert len(group_link(name)) < 1_000
        assert len(drawn([named(name)], ListQuery())) < 8_000


@pytest.mark.parametrize(
    "given",
    [{"match": "x" * 201}, {"state": "Dead"}, {"state": "x"}, {"sort": "x"}, {"offset": "-1"}, {"offset": "9" * 9}],
)
def test_wrong_parameters_are_named(given):
    (field,) = given
    with pytest.raises(InvalidInputError, match=f"^{field}:"):
        parsed_query(given)
