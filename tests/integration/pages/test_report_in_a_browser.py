"""The report in a real browser: every picture is shown without console errors, in light and dark."""

from __future__ import annotations

import pytest

from rebalance_agent.pipeline.report.report_page import page
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan
from support.browsers.browsing import needs_chromium
from support.browsers.fleet_page import EVIL
from support.pipeline.reports import report_of

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    report = report_of(FleetPlan(groups=8, days=2, seed=4), details=4, rename=dict.fromkeys([0], EVIL))
    path.write_text(page(report))
    return path.as_uri()


@pytest.mark.parametrize("dark", [False, True])
def test_every_picture_is_shown_without_errors(chromium, address, dark):
    chromium.open(address, dark=dark)
    assert chromium.problems == []
    assert chromium.run("[...document.querySelectorAll('details')].forEach((each) => { each.open = true; }) || true")
    sizes = chromium.run(
        "[...document.querySelectorAll('figure > svg')].map((each) => [each.querySelectorAll('[data-t]').length,"
        " each.getBoundingClientRect().width, each.getBBox().width])"
    )
    assert len(sizes) >= 5 + 4 * 4
    assert all(marks > 0 and shown > 300 and drawn > 100 for marks, shown, drawn in sizes)
    paper = chromium.run("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper.strip("rgb()").split(","))) < 200) is dark
    assert chromium.run("document.documentElement.scrollWidth <= innerWidth")


def test_a_group_named_like_a_script_is_shown_as_text(chromium, address):
    chromium.open(address)
    assert chromium.run("typeof window.evil") == "undefined"
    names = chromium.run("[...document.querySelectorAll('#all-groups tbody th')].map((each) => each.textContent)")
    assert EVIL in names
    assert chromium.run("document.querySelectorAll('script').length") == 1
    assert chromium.run("document.images.length") == 0


def test_details_of_a_picture_are_available_with_the_keyboard(chromium, address):
    chromium.open(address)
    chromium.run("document.querySelector('figure svg').focus()")
    chromium.press("ArrowRight")
    first = chromium.run("document.getElementById('tip').textContent")
    chromium.press("ArrowRight")
    second = chromium.run("document.getElementById('tip').textContent")
    assert first
    assert second
    assert first != second
    assert chromium.run("!document.getElementById('tip').hidden")
    chromium.press("Escape")
    assert chromium.run("document.getElementById('tip').hidden")


def test_the_table_sorts_and_filters(chromium, address):
    chromium.open(address)
    column = "[...document.querySelectorAll('#all-groups tbody tr')].map((each) => Number(each.cells[3].dataset.v))"
    button = "document.querySelectorAll('#all-groups thead th')[3].querySelector('button').click()"
    chromium.run(button)
    assert (down := chromium.run(column)) == sorted(down, reverse=True)
    chromium.run(button)
    assert chromium.run(column) == sorted(down)
    chromium.run("wanted.value = 'SCRIPT'; wanted.dispatchEvent(new Event('input'))")
    assert (
        chromium.run("[...document.querySelectorAll('#all-groups tbody tr')].filter((each) => !each.hidden).length")
        == 1
    )


def test_a_link_opens_the_groups_pictures(chromium, address):
    chromium.open(address)
    opened = "document.getElementById('group-2').open"
    assert not chromium.run(opened)
    click = "document.querySelector(`a[href='#group-2']`).click()"
    assert chromium.run(f"new Promise((done) => {{ addEventListener('hashchange', () => done({opened})); {click}; }})")
    chromium.open(f"{address}#group-3")
    assert chromium.run("document.getElementById('group-3').open")


def test_errors_of_a_page_are_detected(chromium):
    chromium.open("data:text/html,<script>console.error('no')</script>")
    assert chromium.problems
