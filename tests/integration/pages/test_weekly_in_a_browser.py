"""The weekly page in a real browser: on a screen, on a phone and on paper."""

from __future__ import annotations

import dataclasses

import pytest

from rebalance_agent.pipeline.weekly.week_settings import WeekSettings, member_cost
from rebalance_agent.pipeline.weekly.weekly_page import page
from rebalance_agent.pipeline.weekly.weekly_summary import summarize
from support.browsers.browsing import needs_chromium
from support.browsers.fleet_page import EVIL
from support.pipeline.weeks import sample

pytestmark = needs_chromium

PAPER = (703, 1032)
"""Width and height of A4 without the page's margins of 12 mm, in CSS pixels."""


def written(folder, html):
    path = folder / "weekly.html"
    path.write_text(html)
    return path.as_uri()


@pytest.fixture(scope="module")
def html():
    first, *others = sample().groups
    groups = (dataclasses.replace(first, group=EVIL), *others)
    groups += tuple(
        dataclasses.replace(each, group=f"{each.group}-of-a-long-name-{i}") for i in range(9) for each in others
    )
    return page(summarize(sample(groups=groups), WeekSettings(member_cost=member_cost("12EUR"))))


@pytest.mark.parametrize("width", [390, 800, 1240])
def test_the_page_fits_and_runs_without_errors(chromium, html, tmp_path, width):
    chromium.open(written(tmp_path, html), width=width)
    assert chromium.problems == []
    assert chromium.run("document.documentElement.scrollWidth <= innerWidth")
    # Only the table of both weeks of ten groups is wider than a phone; its frame scrolls.
    wide = "[...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth + 1)"
    titles = chromium.run(f"{wide}.map((each) => each.closest('figure').querySelector('h3').textContent)")
    assert titles == (["Consumer groups with the most stall"] if width == 390 else [])
    assert chromium.run("typeof window.evil") == "undefined"


def test_days_are_explained_with_the_keyboard(chromium, html, tmp_path):
    chromium.open(written(tmp_path, html))
    chromium.run("document.querySelector('figure svg').focus()")
    chromium.press("ArrowRight")
    assert "partition-seconds stalled" in chromium.run("document.getElementById('tip').textContent")


def test_the_page_prints_on_two_sheets(chromium, html, tmp_path):
    chromium.open(written(tmp_path, html.replace("@media print", "@media all")), width=PAPER[0])
    assert chromium.run("document.documentElement.scrollWidth <= innerWidth")
    assert chromium.run("document.querySelector('main').getBoundingClientRect().bottom") < 2 * PAPER[1]
