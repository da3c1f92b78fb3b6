"""Takes the pictures of a report and of a weekly page, ``docs/images/report*.png`` and ``docs/images/weekly.png``.

``python docs/developers/pictures/capture.py report.html weekly/weekly.html`` writes them.

`REBALANCE_AGENT_CHROMIUM` names the browser, as for the tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "agent"), str(ROOT / "tests")]

from support.browsers.browsing import browser  # noqa: E402 - found on the path above

WIDTH, HEIGHT = 1_240, 1_180
ABOVE = 8
GROUP = """(() => {
    const groups = [...document.querySelectorAll("details.group")];
    const advice = each => each.querySelector(".advice strong")?.textContent ?? "";
    const group = groups.find(each => !["", "static members"].includes(advice(each))) ?? groups[0];
    group.open = true;
    const begins = group.getBoundingClientRect().top + scrollY;
    const bottoms = [...group.querySelectorAll("figure")].slice(0, 4).map(each => each.getBoundingClientRect().bottom);
    return [begins, Math.max(...bottoms) + scrollY - begins];
})()"""
"""Where the worst group that another strategy is recommended for begins, and its height as far as the first what-if."""


def main() -> None:
    """Take the pictures of the fleet, of one group and of the week."""
    report, weekly = sys.argv[1:]
    images = ROOT / "docs" / "images"
    with browser() as chromium:
        chromium.open(Path(report).resolve().as_uri(), width=WIDTH, height=HEIGHT)
        chromium.picture(images / "report.png", clip=(0, 0, WIDTH, HEIGHT))
        top, height = chromium.run(GROUP)
        chromium.picture(images / "report-group.png", clip=(0, top - ABOVE, WIDTH, height + 2 * ABOVE))
        chromium.open(Path(weekly).resolve().as_uri(), width=WIDTH, height=HEIGHT)
        chromium.picture(images / "weekly.png", clip=(0, 0, WIDTH, HEIGHT))


if __name__ == "__main__":
    main()
