"""The agent's page in a real browser: appearance, keyboard and screen reader, in light and dark mode."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.http.bearer import Bearer
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.tracking.views import RunningRebalance
from rebalance_agent.ui.page.group_list import group_link
from support.browsers.browsing import needs_chromium
from support.browsers.fleet_page import NAMES, TEXT, served
from support.observer.observing import eventually

pytestmark = needs_chromium
TOKEN = "a-token-of-enough-characters"

CONTRAST = """
(() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((each) => (each <= 10.3 ? each / 3294.6 : ((each / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = (node) => {
    for (let each = node; each; each = each.parentElement) {
      const [r, g, b, a = 1] = parts(getComputedStyle(each).backgroundColor);
      if (a > 0) return [r, g, b];
    }
  };
  const shade = (style, under) => {
    const [r, g, b, a = 1] = parts(style.fill);
    return [r, g, b].map((each, place) => each * a + under[place] * (1 - a));
  };
  const poor = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !node.getClientRects().length) continue;
    const drawn = node.closest("svg") && node.tagName === "text", style = getComputedStyle(node);
    let behind = paper(node);
    // A number stands on its bar, a sign on its mark: both come just before it.
    const kind = drawn ? node.getAttribute("class") : "";
    if (/cell|sign/.test(kind)) behind = shade(getComputedStyle(node.previousElementSibling), behind);
    const pair = [light(parts(drawn ? style.fill : style.color)), light(behind)].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (ratio < (/sign/.test(kind) ? 3 : 4.5)) poor.push([ratio.toFixed(2), walk.currentNode.data.trim()]);
  }
  return poor;
})()
"""
"""A script that returns elements with too little contrast (WCAG 2.2, 1.4.3, and 1.4.11 for signs): contrast and
text."""


def open_group(chromium, address, fleet, number=7, **more):
    chromium.open(f"{address}{group_link(fleet.views[number].group)}", **more)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1240, 320])
def test_pages_have_no_errors_and_are_readable(chromium, address, fleet, dark, width):
    for path in ("", group_link(fleet.views[7].group), group_link("nobody")):
        chromium.open(address + path, dark=dark, width=width)
        complaints = [each for each in chromium.problems if "404" not in each]
        assert complaints == []
        assert chromium.run(CONTRAST) == []
        assert chromium.run("document.documentElement.scrollWidth <= innerWidth")
        paper = chromium.run("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, paper.strip("rgb()").split(","))) < 200) is dark


def test_the_timeline_has_every_owner_of_the_last_rebalance(chromium, address, fleet):
    open_group(chromium, address, fleet)
    tips = chromium.run("[...document.querySelectorAll('svg [data-t]')].map((each) => each.dataset.t)")
    view = fleet.views[7]
    for member in view.members:
        count = count_partitions(member.assigned)
        assert any(f": {count} partition" in tip and f"generation {view.generation} on" in tip for tip in tips)
    assert chromium.run("document.querySelectorAll('.roomy .trigger').length") == view.generation
    assert "Advice" in chromium.run(TEXT)


EDGES = """
(() => {
  const box = document.querySelector(".scroll.wide"), { left, top, width, height } = box.getBoundingClientRect();
  document.querySelector(".scroll.wide table").style.visibility = "hidden";
  return [left + scrollX, top + scrollY, width, height, box.scrollWidth - box.clientWidth];
})()
"""


@pytest.mark.parametrize("dark", [False, True])
def test_a_shadow_shows_on_which_side_the_table_continues(chromium, address, fleet, dark, tmp_path):
    def strips(place):
        chromium.run(f"document.querySelector('.scroll.wide').scrollLeft = {place}")
        left, top, width, height, _ = chromium.run(EDGES)
        middle = top + height / 2
        found = []
        for at in (left + 3, left + width / 2, left + width - 9):
            chromium.picture(tmp_path / "strip.png", clip=(round(at), round(middle), 6, 20))
            found.append((tmp_path / "strip.png").read_bytes())
        return [strip != found[1] for strip in found]

    chromium.open(address, width=390, dark=dark)
    *_, hidden = chromium.run(EDGES)
    assert hidden > 50, "on a phone the table is wider than the screen"
    assert strips(0) == [False, False, True]
    assert strips(hidden // 2) == [True, False, True]
    assert strips(hidden) == [True, False, False]
    chromium.open(address, width=1600, dark=dark)
    assert chromium.run(EDGES)[4] == 0
    assert strips(0) == [False, False, False]


SHOWN = """
[...document.querySelectorAll(".roomy svg, .slim svg")].filter((each) => each.getClientRects().length).map((each) => ({
  box: each.parentElement.className,
  wide: each.getBoundingClientRect().width,
  scrolls: each.parentElement.scrollWidth > each.parentElement.clientWidth,
  names: [...each.querySelectorAll("text.tick")].map((text) => text.textContent),
  inside: [...each.children].every((mark) => {
    const { left, right } = mark.getBoundingClientRect(), whole = each.getBoundingClientRect();
    return left >= whole.left - 1 && right <= whole.right + 1;
  }),
  letters: Math.min(...[...each.querySelectorAll("text")].map((text) => text.getBoundingClientRect().height)),
}))
"""


@pytest.mark.parametrize(("width", "box"), [(1240, "roomy"), (901, "roomy"), (900, "slim"), (320, "slim")])
def test_the_member_of_a_bar_is_visible_on_every_screen(chromium, address, fleet, width, box):
    open_group(chromium, address, fleet, width=width)
    (picture,) = chromium.run(SHOWN)
    assert picture["box"] == box
    assert picture["inside"]
    assert not picture["scrolls"]
    members = chromium.run("[...document.querySelectorAll('.data tbody th')].map((each) => each.textContent)")[2:]
    assert len(members) >= len(fleet.views[7].members)
    assert [each for each in members if not any(each.endswith(name.lstrip("…")) for name in picture["names"])] == []
    assert picture["letters"] >= 8
    names = [name for role, name in chromium.roles() if role in ("image", "img") and "Owners" in name]
    assert len(names) == 1, "a screen reader reads one picture"
    chromium.run("[...document.querySelectorAll('svg[tabindex]')].find((each) => each.getClientRects().length).focus()")
    chromium.press("End")
    assert not chromium.run("document.getElementById('tip').hidden")


def test_the_page_is_usable_with_the_keyboard_only(chromium, address, fleet):
    chromium.open(address)
    seen = []
    for _ in range(40):
        chromium.press("Tab")
        seen.append(chromium.run("document.activeElement.textContent.trim() || document.activeElement.name"))
        if seen[-1] == fleet.views[0].group:
            break
    assert seen[:2] == ["Skip to the content", "rebalance-agent"]
    assert {"Pause", "match", "Show", "Group", fleet.views[0].group} <= set(seen)
    chromium.press("Enter", text="\r")
    # The picture is in the document before the page's program handles its keys.
    ready = "document.readyState === 'complete' && document.querySelector('svg[tabindex]') !== null"
    eventually(lambda: chromium.run(ready))
    chromium.run("document.querySelector('svg[tabindex]').focus()")
    reported = []
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "End"):
        chromium.press(key)
        reported.append(chromium.run("document.getElementById('tip').textContent"))
    assert "generation 1: group started" in reported[0]
    assert reported[1] != reported[0]
    assert "partition" in reported[2]
    assert "generation" in reported[3]
    assert "skew" in reported[4]
    chromium.press("Escape")
    assert chromium.run("document.getElementById('tip').hidden")


def test_a_screen_reader_gets_the_name_of_each_part(chromium, address, fleet):
    chromium.open(address)
    roles = chromium.roles()
    landmarks = {role for role, _ in roles} & {"banner", "main", "contentinfo", "navigation", "search", "region"}
    assert landmarks == {"banner", "main", "contentinfo", "navigation", "search", "region"}
    named = ("link", "button", "searchbox", "combobox", "image")
    assert [role for role, name in roles if role in named and not name] == []
    assert ("heading", "Consumer groups") in roles
    assert ("rowheader", fleet.views[0].group) in roles
    assert ("columnheader", "Problem") in roles or any("Problem" in name for _, name in roles)
    open_group(chromium, address, fleet)
    (picture,) = [name for role, name in chromium.roles() if role in ("image", "img") and "Owners" in name]
    assert "arrow keys" in picture
    levels = chromium.run("[...document.querySelectorAll('h1, h2, h3')].map((each) => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    ids = chromium.run("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))


def test_changes_are_applied_and_the_focus_is_kept(chromium, fleet):
    with served(fleet.app()) as address:
        view = fleet.views[7]
        chromium.open(address + group_link(view.group))
        chromium.run("document.querySelector('.data').open = true")
        chromium.run("document.querySelector('svg[tabindex]').focus()")
        chromium.run("window.mine = true")
        fleet.views[7] = replace(view, running=RunningRebalance(fleet.clock.now_ms(), 12), version=view.version + 1)
        try:
            eventually(lambda: "Rebalancing now" in chromium.run(TEXT))
            assert chromium.run("window.mine && document.querySelector('.data').open")
            assert chromium.run("document.activeElement === document.querySelector('svg[tabindex]')")
            assert chromium.run("document.querySelectorAll('.roomy .running').length") == 1
        finally:
            fleet.views[7] = view
        eventually(lambda: "Rebalancing now" not in chromium.run(TEXT))
        chromium.run("document.getElementById('pause').click()")
        assert chromium.run("document.getElementById('live').textContent") == "paused"
        assert chromium.problems == []
    chromium.run("document.getElementById('pause').click()")
    eventually(lambda: "does not respond" in chromium.run("document.getElementById('live').textContent"))
    assert view.group in chromium.run(TEXT)


def test_the_list_is_filtered_and_ordered(chromium, address, fleet):
    chromium.open(address)
    name = fleet.views[2].group
    chromium.run(
        "(() => { const it = document.querySelector('[name=match]'); it.focus(); "
        f"it.value = {name[3:]!r}; it.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
    )
    eventually(lambda: chromium.run(NAMES) == [name])
    assert chromium.run("document.activeElement.name") == "match"
    chromium.open(chromium.run("location.href"))
    assert chromium.run(NAMES) == [name]
    chromium.open(f"{address}?sort=-members")
    assert chromium.run(NAMES)[0] == max(fleet.views, key=lambda view: len(view.members)).group
    assert chromium.run("document.querySelector('[aria-sort]').textContent") == "Members"


def test_the_page_requests_a_token_and_keeps_it_for_the_tab(chromium, fleet):
    enter = (
        "(() => {{ const form = document.getElementById('signin'); form.elements.token.value = '{}'; "
        "form.requestSubmit(); }})()"
    )
    with served(fleet.app(bearer=Bearer(TOKEN))) as address:
        chromium.open(address)
        assert fleet.views[0].group not in chromium.run("document.documentElement.outerHTML")
        eventually(lambda: chromium.run("document.activeElement.name") == "token")
        chromium.run(enter.format("not-the-right-token"))
        eventually(lambda: "rejected" in chromium.run("document.getElementById('refused').textContent"))
        chromium.run(enter.format(TOKEN))
        eventually(lambda: fleet.views[0].group in chromium.run(NAMES))
        chromium.open(address + group_link(fleet.views[0].group))
        eventually(lambda: chromium.run("document.querySelectorAll('svg[tabindex]').length"))
        chromium.run("sessionStorage.clear()")


def test_without_scripts_the_page_is_complete(chromium, address, fleet):
    chromium.scripts(allowed=False)
    try:
        open_group(chromium, address, fleet)
        assert "2026" in chromium.run(TEXT)
        assert chromium.run("document.querySelectorAll('.roomy .trigger').length")
    finally:
        chromium.scripts(allowed=True)
