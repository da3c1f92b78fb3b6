"""Draws all boards with five planted faults, and one healthy group, for a reader who does not know the faults.

``python docs/developers/pictures/draw_faults.py FOLDER [MINUTES]`` writes pictures of a run of some minutes. Names of
groups do not show what happens to them. It needs Prometheus (``REBALANCE_AGENT_PROMTOOL``, with the server beside it),
Chromium (``REBALANCE_AGENT_CHROMIUM``) and the npm packages of the tests of the boards.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "agent"), str(ROOT / "tests")]

from rebalance_agent.clock import SystemClock  # noqa: E402 - found on the path above
from rebalance_agent.demo.demo_processes import DemoProcesses, choose_ports  # noqa: E402
from rebalance_agent.demo.observed.observer_data import answers as ready  # noqa: E402
from rebalance_agent.demo.processes.children import Children  # noqa: E402
from rebalance_agent.demo.scenario_types import ClientLibrary, DemoGroup, DemoMember  # noqa: E402
from rebalance_agent.testing import EmbeddedKafka  # noqa: E402
from support.browsers.browsing import browser  # noqa: E402
from support.charts.board_picture import picture  # noqa: E402
from support.charts.boards import boards  # noqa: E402
from support.charts.grafana_answers import answers, shown  # noqa: E402
from support.charts.live_prometheus import JOBS, LAG, SCRAPE_SECONDS, Live, Prometheus, server  # noqa: E402
from support.charts.live_rules import written  # noqa: E402
from support.observer.observing import eventually  # noqa: E402

SESSION_MS = 10_000
REVOKED_SECONDS = 12.0
BARS_SECONDS = 30.0
"""Between two bars."""

SIZE = re.compile(r"width='(\d+)' height='(\d+)'")
"""Pixels of a drawn board."""


def _group(name: str, assignor: str, topics: str, members: int = 3) -> DemoGroup:
    consumers = tuple(DemoMember(f"{name}-{number + 1}") for number in range(members))
    return DemoGroup(name, "", ClientLibrary.KAFKA_PYTHON, assignor, topics, consumers, SESSION_MS)


HEALTHY = _group("orders", "sticky", "orders")
KILLED = _group("payments", "sticky", "payments", 4)
SLOW = _group("invoices", "sticky", "invoices")
FLAPPING = _group("shipping", "sticky", "shipping")
SKEWED = _group("clicks", "range", "^clicks-.*")
EMPTY = _group("refunds", "sticky", "refunds", 2)
GROUPS = (HEALTHY, KILLED, SLOW, FLAPPING, SKEWED, EMPTY)
TOPICS = {"orders": 12, "payments": 24, "invoices": 12, "shipping": 12, "refunds": 6}
TOPICS |= {f"clicks-{number}": 1 for number in range(9)}


class Faults:
    """The faults, as steps that begin one after the other."""

    def __init__(self, children: Children, processes: DemoProcesses) -> None:
        """The faults begin with the calls of `steps`."""
        self._children, self._processes = children, processes

    def _starts(self, group: DemoGroup, number: int) -> None:
        member = group.members[number - 1]
        alone = DemoGroup(
            group.name, "", group.client, group.assignor, group.topics, (member,), group.session_timeout_ms
        )
        self._processes.start_members((alone,))

    def steps(self) -> Iterator[None]:
        """The next step at each call: first a kill and an empty group, then callbacks and a member that flaps."""
        yield self._children.kill("payments-2")
        for member in EMPTY.members:
            self._children.leave(member.name)
        yield
        for number in itertools.count():
            # Another member each time, so that only the callback is at fault.
            restarted = (1, 3)[number % 2]
            self._children.send("invoices-2", f"slow {REVOKED_SECONDS:g}")
            self._children.leave(f"invoices-{restarted}")
            yield self._children.leave("shipping-3")
            self._starts(FLAPPING, 3)
            yield self._starts(SLOW, restarted)
            yield self._children.leave("shipping-3")
            yield self._starts(FLAPPING, 3)


STEP_SECONDS = 25.0
START_SECONDS = 30.0


def run(folder: Path, minutes: float) -> None:
    """Let the faults happen for some minutes, and draw the boards."""
    os.environ.update(LAG)
    clock, pause = SystemClock(), threading.Event()
    work = Path(tempfile.mkdtemp(prefix="faults-"))
    binary = server()
    if binary is None:
        raise SystemExit("no prometheus")
    with (
        EmbeddedKafka() as kafka,
        Children(work) as children,
        Prometheus(binary, work, written(work, f"{SCRAPE_SECONDS}s")) as prometheus,
    ):
        ports = choose_ports(GROUPS)
        processes = DemoProcesses(children, kafka.bootstrap_servers, ports)
        processes.start_agents(GROUPS)
        processes.create_topics(TOPICS)
        for name, url in ports.addresses.items():
            eventually(lambda url=url: ready(url.removesuffix("metrics") + "readyz"), waiting_for=name)
            prometheus.watch(name, JOBS[name], url.removeprefix("http://").removesuffix("/metrics"))
        live = Live(prometheus, began=clock.now_ms() / 1000)
        processes.start_members(GROUPS)
        processes.start_producer(TOPICS, "^clicks-.*")
        pause.wait(START_SECONDS)
        steps, end = Faults(children, processes).steps(), clock.monotonic() + 60 * minutes
        while clock.monotonic() < end:
            next(steps)
            pause.wait(STEP_SECONDS)
        live.ended = clock.now_ms() / 1000
        _draw(live, folder, work)


def _draw(live: Live, folder: Path, work: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with browser() as chromium:
        for group in (None, *GROUPS):
            chosen = {
                uid: board for uid, board in boards().items() if (uid == "rebalance-group") is (group is not None)
            }
            name = group.name if group else ".+"
            answered = {uid: answers(live, board, name, BARS_SECONDS) for uid, board in chosen.items()}
            frames = shown(chosen, answered, work)
            for uid, board in chosen.items():
                path = folder / (f"{uid}-{name}.svg" if group else f"{uid}.svg")
                drawn = picture(board, frames[uid])
                path.write_text(drawn, encoding="utf-8")
                width, height = map(int, next(SIZE.finditer(drawn)).groups())
                chromium.open(path.resolve().as_uri(), width=width, height=height)
                chromium.picture(path.with_suffix(".png"))


if __name__ == "__main__":
    FOLDER, MINUTES, *_ = [*sys.argv[1:], "8"]
    run(Path(FOLDER), float(MINUTES))
