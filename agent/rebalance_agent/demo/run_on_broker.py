"""Runs the scenario once on a broker that is ready: starts the processes, runs the steps, returns the summary."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from rebalance_agent.clock import Clock
from rebalance_agent.demo.demo_processes import SETTLE_SECONDS, DemoProcesses, choose_ports
from rebalance_agent.demo.errors import DemoError
from rebalance_agent.demo.observed.coordinator_state import read_coordinator
from rebalance_agent.demo.observed.differences import CoordinatorView, SeenStep
from rebalance_agent.demo.observed.observer_data import DemoObserver, answers
from rebalance_agent.demo.observed.summary import Summary, seen_steps, summarise
from rebalance_agent.demo.processes.children import Children
from rebalance_agent.demo.scenario import AGAIN, AGAIN_PAUSE_SECONDS, GROUPS, STEPS, TOPICS
from rebalance_agent.demo.screens.screen import Board, Screen
from rebalance_agent.demo.step_schedule import STEP_SECONDS_MAX, StepRun, StepSchedule, stable
from rebalance_agent.testing import EmbeddedKafka

__all__ = ["DemoRun"]

TICK_SECONDS = 0.2
"""Pause between two updates of the schedule and the screen, in seconds."""

START_SECONDS_MAX = 60.0
"""Time limit, in seconds, for the agent's processes to be ready, and then again for the groups to have their
members."""

SETTLE_SECONDS_MAX = SETTLE_SECONDS + 2.0
CHECK_SECONDS = 7.0
"""Seconds reserved for the check: Kafka's console consumer starts a Java process."""

ATTEMPTS_MAX = 2
"""Maximum number of attempts of the check: agent and coordinator are read at different moments; a real difference
persists."""


class DemoRun:
    """One run of the demo; call `run` once. ``interrupted``: whether Ctrl-C ended a run without a time limit."""

    def __init__(
        self, seconds: float, check: bool, clock: Clock, screen: Screen, kafka: EmbeddedKafka, children: Children
    ) -> None:
        """Choose ports and prepare the run. ``seconds``: time limit from now; 0 for no limit."""
        self.interrupted = False
        self._check = check
        self._clock = clock
        self._screen = screen
        self._kafka = kafka
        self._children = children
        self._ports = choose_ports(GROUPS)
        self._processes = DemoProcesses(children, kafka.bootstrap_servers, self._ports)
        observer = self._ports.addresses["observer"].removesuffix("/metrics")
        self._observer = DemoObserver(observer, kafka.bootstrap_servers)
        self._addresses = {"Kafka": kafka.bootstrap_servers, "page": f"{observer}/", **self._ports.addresses}
        self._began = clock.monotonic()
        self._seconds = seconds
        self._end = self._began + (seconds or float("inf"))
        self._pace = threading.Event()
        self._reserve_seconds = SETTLE_SECONDS_MAX + (CHECK_SECONDS if check else 0)
        self._runs = self._shown = tuple(map(StepRun, STEPS))
        self._seen: tuple[SeenStep, ...] | None = None

    def run(self) -> Summary:
        """Run the demo and return the summary.

        Raises:
            DemoError: a process ended, or something was not ready in time.
        """
        for group in GROUPS:
            self._screen.say(f"group {group.name} ({group.client}, {group.assignor}): {group.description}")
        self._processes.start_agents(GROUPS)
        self._processes.create_topics(TOPICS)
        self._await_agents()
        self._processes.start_members(GROUPS)
        self._processes.start_producer(TOPICS, "^clicks-.*")
        with self._observer:
            try:
                self._go_on(self._run_steps())
            except KeyboardInterrupt:
                if self._seconds:
                    raise
                self.interrupted = True
            return self._summary()

    def _run_steps(self) -> Mapping[str, int]:
        """Run the steps; return the number of members in each group after the steps."""
        members = {group.name: sum(member.from_start for member in group.members) for group in GROUPS}
        self._wait_until(lambda: self._have_members(members), START_SECONDS_MAX)
        if not self._have_members(members) and self._clock.monotonic() < self._end:
            raise DemoError(f"the groups were not ready within {START_SECONDS_MAX:g} s: {self._states()}")
        schedule = StepSchedule(STEPS, members, self._clock, self._end - self._reserve_seconds)
        self._runs = self._shown = schedule.runs
        while not schedule.over:
            self._advance(schedule)
        self._wait_until(self._events_complete, SETTLE_SECONDS_MAX)
        self._update_screen()
        return schedule.members

    def _go_on(self, members: Mapping[str, int]) -> None:
        """Slowly repeat the repeatable steps for the rest of the time; no step begins that could not end in time.

        The summary has only the first steps, because an observer keeps only the last rebalances of a group.
        """
        until = self._end - self._reserve_seconds
        while self._clock.monotonic() < until - STEP_SECONDS_MAX:
            self._seen = self._seen or self._seen_steps()
            schedule = StepSchedule(AGAIN, members, self._clock, until - STEP_SECONDS_MAX, AGAIN_PAUSE_SECONDS)
            self._shown = schedule.runs
            while not schedule.over or schedule.running:
                self._advance(schedule)
            members = schedule.members
        self._wait_until(lambda: self._clock.monotonic() >= until, float("inf"))
        self._wait_until(self._events_complete, SETTLE_SECONDS_MAX)

    def _advance(self, schedule: StepSchedule) -> None:
        groups = self._observer.groups
        schedule.advance(groups, self._processes.execute)
        if late := schedule.news(groups):
            self._say_now(late)
        self._update_screen()

    # -- waiting -----------------------------------------------------------------------------------------------

    def _await_agents(self) -> None:
        for name, url in self._ports.addresses.items():
            ready = url.removesuffix("metrics") + "readyz"
            deadline = self._clock.monotonic() + START_SECONDS_MAX
            while not answers(ready):
                self._children.require_alive()
                if self._clock.monotonic() > deadline:
                    raise DemoError(f"the {name} is not ready after {START_SECONDS_MAX:g} s: {ready} shows the reason")
                self._pace.wait(TICK_SECONDS)
            self._screen.say(f"{name}: page {url.removesuffix('metrics')}, metrics {url}")

    def _wait_until(self, condition: Callable[[], bool], seconds: float) -> None:
        deadline = min(self._clock.monotonic() + seconds, self._end)
        while not condition() and self._clock.monotonic() < deadline:
            self._update_screen()

    def _have_members(self, members: Mapping[str, int]) -> bool:
        groups = self._observer.groups
        return all(
            name in groups and stable(groups[name]) and groups[name].members == count for name, count in members.items()
        )

    def _events_complete(self) -> bool:
        """Return whether the events include all generations that the API shows, so that every episode has settled."""
        groups = self._observer.groups
        newest = {group.name: self._observer.completed(group.name)[:1] for group in GROUPS}
        return all(lines and lines[0].generation == groups[name].generation for name, lines in newest.items())

    def _update_screen(self) -> None:
        self._children.require_alive()
        self._screen.show(Board(self._elapsed_seconds, self._addresses, self._observer.answer, self._shown))
        if problem := self._observer.problem_news():
            self._say_now(problem)
        for group in GROUPS:
            for text in self._observer.explain_news(group.name):
                self._say_now(text)
        self._pace.wait(TICK_SECONDS)

    @property
    def _elapsed_seconds(self) -> float:
        return self._clock.monotonic() - self._began

    def _say_now(self, text: str) -> None:
        self._screen.say(f"{self._elapsed_seconds:6.1f} s  {text}")

    def _states(self) -> str:
        seen = self._observer.groups
        return ", ".join(
            f"{group.name} {seen[group.name].state} with {seen[group.name].members}"
            if group.name in seen
            else f"{group.name} unseen"
            for group in GROUPS
        )

    # -- the end -----------------------------------------------------------------------------------------------

    def _seen_steps(self) -> tuple[SeenStep, ...]:
        episodes = {group.name: self._observer.episodes(group.name) for group in GROUPS}
        return seen_steps(self._runs, episodes, self._observer.problem)

    def _summary(self) -> Summary:
        names = [group.name for group in GROUPS]
        coordinator: dict[str, CoordinatorView] | None = None
        for _ in range(ATTEMPTS_MAX):
            episodes, gauges = {name: self._observer.episodes(name) for name in names}, self._observer.gauges()
            if self._check:
                coordinator = read_coordinator(self._kafka, names)
            steps = self._seen or self._seen_steps()
            summary = summarise(GROUPS, episodes, gauges, steps, coordinator, self._observer.problem, self._seconds)
            if not summary.differences:
                break
        return summary
