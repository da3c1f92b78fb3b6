"""Takes the pictures of the agent's own page, ``docs/images/page*.png``.

``python docs/developers/pictures/capture_page.py`` writes them.

They are of a run of the demo, when most of it has happened. `REBALANCE_AGENT_CHROMIUM` names the browser, as for tests.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "agent"), str(ROOT / "tests")]

from rebalance_agent.ui.page.group_list import group_link  # noqa: E402 - found on the path above
from support.browsers.browsing import Browser, browser  # noqa: E402
from support.observer.observing import eventually, http  # noqa: E402

PATIENCE_S = 200
GROUP, STALL_SECONDS = "orders-weighted", 5
"""The demo's group whose members leave, return and slow down. Pictures are taken once it was stalled for so long."""

WIDTH, LIST_HEIGHT, GROUP_HEIGHT, SIDECAR_HEIGHT = 1_240, 590, 1_130, 500
ADDRESS = re.compile(r"^(observer|sidecar): page (http://[\d.:]+)/, ")


def main() -> None:
    """Take the list of groups, a group in light and dark colours, and a sidecar's consumers."""
    command = [sys.executable, "-m", "rebalance_agent.cli.main", "demo", "--headless", "--seconds", "0"]
    addresses: dict[str, str] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:  # noqa: S603 - our own program
        for line in demo.stdout or ():
            if found := ADDRESS.match(line.rstrip()):
                addresses[found[1]] = found[2]
            if len(addresses) == len(("observer", "sidecar")):
                break
        threading.Thread(target=lambda: [*(demo.stdout or ())], daemon=True).start()
        _take(addresses["observer"], addresses["sidecar"])
        demo.send_signal(signal.SIGINT)


def _take(observer: str, sidecar: str) -> None:
    with browser() as chromium:
        eventually(lambda: _waited(observer), PATIENCE_S)
        _picture(chromium, f"{observer}/", "page", LIST_HEIGHT)
        _picture(chromium, f"{sidecar}/", "page-sidecar", SIDECAR_HEIGHT)
        _picture(chromium, f"{observer}/{group_link(GROUP)}", "page-group", GROUP_HEIGHT)
        _picture(chromium, f"{observer}/{group_link(GROUP)}", "page-group-dark", GROUP_HEIGHT, dark=True)


def _waited(observer: str) -> bool:
    """Whether the group's last rebalance waited for its slow member."""
    answer = json.loads(http(f"{observer}/api/v1/groups/{GROUP}/rebalances")[1])
    stalls = [each.get("stall") for each in answer.get("rebalances", ())[:1]]
    return any(stall and stall["lower_seconds"] > STALL_SECONDS for stall in stalls)


def _picture(chromium: Browser, url: str, name: str, height: int, *, dark: bool = False) -> None:
    chromium.open(url, width=WIDTH, height=height, dark=dark)
    if chromium.problems:
        raise SystemExit(f"{url}: {chromium.problems}")
    chromium.picture(ROOT / "docs" / "images" / f"{name}.png")


if __name__ == "__main__":
    main()
