"""The agent's page under bad conditions: hostile names, an agent that restarts, clocks that differ."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.clock import SystemClock
from rebalance_agent.tracking.views import RunningRebalance
from rebalance_agent.ui.page.group_list import group_link
from support.browsers.browsing import needs_chromium
from support.browsers.fleet_page import DAY_MS, EVIL, NAMES, TEXT, FleetPage, served
from support.observer.observing import eventually

pytestmark = needs_chromium
HOSTILE = (
    *("<script>evil=1</script>", '"><img src=x onerror=evil=2>', "' onmouseover='evil=3", "javascript:evil=4"),
    *("</title><script>evil=5</script>", "</main></body>", "<svg onload=evil=6>", "<!--", "]]>", "&lt;b&gt;", "&amp;"),
    *("%3Cscript%3E", "%00", "%zz", "../../etc", "..", ".", "/", "//other.example", "\\", "?x=1#y", "#", "&name=other"),
    *("a b", "  lead", "trail  ", "\t", "\r\nSet-Cookie: x=1", "\x00", "\x1b[31mred", "\u202egnihtyna", "\u200b"),
    *("\u2028", "\ufeff", "e\u0301" * 200, "Z" + "\u0300\u0301\u0302" * 60, "漢字" * 80, "عربى", "👨\u200d👩" * 50),
    *("a" * 249, "a" * 5_000),
    *("{{7*7}}", "${7*7}", "{% raw %}", "*", "[a", "[!]", "?"),
)
"""Names of groups: malicious and unusual ones."""


def test_names_with_scripts_are_text(chromium, address):
    chromium.open(address)
    assert EVIL in chromium.run(NAMES)
    chromium.open(address + group_link(EVIL))
    assert chromium.run("document.querySelector('h1').textContent") == EVIL
    assert chromium.run("document.title").startswith("<script>")
    assert chromium.run("typeof window.evil") == "undefined"
    assert chromium.run("document.images.length + document.querySelectorAll('script:not([src])').length") == 0
    assert chromium.problems == []


def test_no_name_breaks_the_list_or_its_own_page(chromium):
    fleet = FleetPage(groups=len(HOSTILE), days=1, rename=dict(enumerate(HOSTILE)))
    with served(fleet.app()) as address:
        chromium.open(address)
        links = "[...document.querySelectorAll('.groups tbody th a')].map((each) => [each.textContent, each.href])"
        found = chromium.run(links)
        assert len(found) == len(HOSTILE)
        assert chromium.run("document.documentElement.scrollWidth <= innerWidth")
        for text, link in found:
            chromium.open(link)
            assert chromium.run("document.querySelector('h1').textContent") == text
            assert chromium.problems == []
            assert chromium.run("typeof window.evil") == "undefined"
            assert chromium.run("document.documentElement.scrollWidth <= innerWidth"), text


def test_the_content_security_policy_blocks_other_scripts(chromium, address):
    chromium.open(address)
    chromium.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.evil = 3\">')")
    script = "const it = document.createElement('script'); it.textContent = 'window.evil = 4'; document.body.append(it)"
    chromium.run(f"(() => {{ {script} }})()")
    eventually(lambda: len([each for each in chromium.problems if "Content Security Policy" in each]) >= 1)
    assert chromium.run("typeof window.evil") == "undefined"


def test_the_page_reconnects_to_a_restarted_observer(chromium, fleet):
    link, live = group_link(fleet.views[7].group), "document.getElementById('live').textContent"
    after = FleetPage(groups=8)
    views, after.views = after.views, []
    with served(fleet.app()) as address:
        chromium.open(address + link)
        eventually(lambda: chromium.run(live) == "live")
    chromium.run("refresh().then(() => true)")
    assert "does not respond" in chromium.run(live)
    with served(after.app(), int(address.rstrip("/").rpartition(":")[2])):
        chromium.run("refresh().then(() => true)")
        assert "There is no such group" in chromium.run(TEXT)
        after.views = views
        eventually(lambda: chromium.run("document.querySelectorAll('.roomy .trigger').length"))
        assert chromium.run(live) == "live"


@pytest.mark.parametrize("status", [200, 401, 404, 503])
def test_the_page_ignores_answers_of_other_programs(chromium, address, fleet, status):
    chromium.open(address + group_link(fleet.views[7].group))
    chromium.run(f"window.fetch = async () => new Response('<p>default backend</p>', {{ status: {status} }})")
    chromium.run("refresh().then(() => true)")
    assert "does not respond" in chromium.run("document.getElementById('live').textContent")
    assert fleet.views[7].group in chromium.run(TEXT)


def test_times_are_relative_to_the_agents_clock(chromium, fleet):
    view = fleet.views[7]
    now_ms = SystemClock().now_ms()
    since = "document.querySelector('[data-since]').textContent"
    fleet.views[7] = replace(view, running=RunningRebalance(now_ms - 90_000, 12), version=view.version + 1)
    try:
        with served(fleet.app()) as address:
            for wrong_ms in (0, 7_200_000, -7_200_000):
                script = f"const truth = Date.now; Date.now = () => truth() + {wrong_ms};"
                with chromium.before_scripts(script):
                    chromium.open(address + group_link(view.group))
                    eventually(lambda: chromium.run(since).startswith("for 1 min "), waiting_for=wrong_ms)
            fleet.views[7] = replace(view, running=RunningRebalance(now_ms + DAY_MS, 12), version=view.version + 2)
            eventually(lambda: chromium.run(since) == "for 0 s", waiting_for="the broker's clock is ahead")
    finally:
        fleet.views[7] = view
