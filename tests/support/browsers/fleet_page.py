"""The agent's own page for synthetic groups, on its own listener."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

from rebalance_agent.api.groups_api import GroupsApi
from rebalance_agent.api.history import EpisodeHistory
from rebalance_agent.clock import FakeClock
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.server import HttpServer
from rebalance_agent.runtime.listeners.web import WebApp
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan
from rebalance_agent.testing.synthetic.synthetic_history import history
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.ui.page.site import GroupPages, Site

DAY_MS = 86_400_000

EVIL = "<script>window.evil = 1</script><img src=x onerror='window.evil = 2'>"
"""A group's name with markup that would run if it were not escaped."""

NAMES = "[...document.querySelectorAll('.groups tbody th')].map((each) => each.textContent)"
TEXT = "document.getElementById('main').innerText"
"""Scripts that return what a page shows."""


class FleetPage:
    """Page and API of an agent with synthetic groups; tests change ``views`` and add to ``history``."""

    def __init__(self, groups=8, days=2, *, rename=None):
        """``rename``: number of a group -> the name to give it."""
        fleet = FleetPlan(groups=groups, days=days, seed=7)
        self.clock = FakeClock(fleet.since_ms + days * DAY_MS + 3_600_000)
        self.history = EpisodeHistory()
        self.readiness = Readiness()
        self.views = []
        for number in range(groups):
            tracker = Tracker(fleet.cluster_id)
            name = (rename or {}).get(number)
            for event in history(fleet, number, tracker):
                self.history.on_event(replace(event, group=name) if name else event)
            view = tracker.view(event.group)
            self.views.append(replace(view, group=name) if name else view)
        self.api = GroupsApi(lambda: tuple(self.views), self.history, self.clock)
        self.site = Site(self.readiness, groups=GroupPages(self.api, self.history, self.clock))

    def app(self, **more):
        return WebApp((), self.readiness, site=self.site, api=self.api, **more)


@contextmanager
def served(app, port=0):
    """The address of a listener with ``app`` while the block runs; by default on a free port."""
    server = HttpServer("127.0.0.1", port, app)
    server.start()
    try:
        yield f"http://127.0.0.1:{server.port}/"
    finally:
        server.stop()
