import re
from dataclasses import replace

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.exposition.api_drawing import draw_summary
from rebalance_agent.exposition.page.listing import PAGE_ROWS, Wanted, group_link, listing, wanted
from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupState
from rebalance_agent.rebalances.views import RunningRebalance
from support.views import NOW, full_view

WELL = draw_summary(full_view(running=None))


def named(name, **changes):
    return replace(WELL, group=name, **changes)


def shown(html):
    """Groups in their order."""
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
        (Wanted(), ["bare", "busy", "skewed", "calm"]),
        (Wanted(sort="-worst"), ["calm", "skewed", "busy", "bare"]),
        (Wanted(sort="group"), ["bare", "busy", "calm", "skewed"]),
        (Wanted(sort="-skew"), ["skewed", "bare", "busy", "calm"]),
        (Wanted(sort="-hour"), ["calm", "bare", "busy", "skewed"]),
        (Wanted(match="B"), ["bare", "busy"]),
        (Wanted(match="*d"), ["skewed"]),
        (Wanted(state="running"), ["busy"]),
        (Wanted(state="Stable"), ["bare", "skewed", "calm"]),
        (Wanted(match="nobody"), []),
    ],
)
def test_groups_come_in_the_order_and_choice_that_is_wanted(want, order):
    assert shown(listing(GROUPS, {"calm": 3}, NOW, want)) == order


def test_pages_lead_to_each_other_and_keep_what_was_wanted():
    groups = [named(f"group-{number:04}") for number in range(2 * PAGE_ROWS + 1)]
    first = listing(groups, {}, NOW, Wanted(sort="group", match="group"))
    assert len(shown(first)) == PAGE_ROWS
    assert 'rel="prev"' not in first
    assert '<a rel="next" href="./?match=group&amp;sort=group&amp;offset=100">' in first
    last = listing(groups, {}, NOW, Wanted(sort="group", match="group", offset=2 * PAGE_ROWS))
    assert shown(last) == ["group-0200"]
    assert 'rel="next"' not in last
    assert "201 to 201 of 201 groups" in last


def test_a_page_of_two_thousand_groups_stays_small():
    groups = [named(f"a-service-with-a-name-of-usual-length-{number:04}") for number in range(2_000)]
    assert len(listing(groups, {}, NOW, Wanted())) < 100_000


def test_what_nobody_knows_is_said_so():
    polled = named("polled", skew_ratio=None, last=None, source=Source.ADMIN)
    html = listing([polled], {}, NOW, Wanted())
    assert '<span class="unknown">unknown</span>' in html
    assert "only polled" in html
    assert html.count("none yet") == 2


def test_no_groups_and_none_that_match_are_told_apart():
    assert "No group is known" in listing([], {}, NOW, Wanted())
    assert "None of 4 groups is so" in listing(GROUPS, {}, NOW, Wanted(match="zzz"))


def test_names_are_escaped_in_text_and_addresses():
    html = listing([named('<img src=x>"&\n../..')], {}, NOW, Wanted(match='"><b>'))
    assert "<img" not in html
    assert "<b>" not in html
    assert shown(listing([named("<i>")], {}, NOW, Wanted())) == ["&lt;i&gt;"]
    assert group_link("../a/b c?d&e") == "group?name=..%2Fa%2Fb%20c%3Fd%26e"


@pytest.mark.parametrize(
    "given",
    [{"match": "x" * 201}, {"state": "Dead"}, {"state": "x"}, {"sort": "x"}, {"offset": "-1"}, {"offset": "9" * 9}],
)
def test_wrong_parameters_are_named(given):
    (field,) = given
    with pytest.raises(InvalidInputError, match=f"^{field}:"):
        wanted(given)
