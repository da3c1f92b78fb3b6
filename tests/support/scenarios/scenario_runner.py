"""Runs scenarios: real members execute the actions of each step, and a real observer publishes their episodes.

A step begins when the group is stable after the previous step, according to the offsets topic. `ScenarioRunner.run`
returns the results; `step_results` compares them with the expected episodes.
"""

from __future__ import annotations

import itertools
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

from confluent_kafka.admin import AdminClient, NewPartitions

from rebalance_agent.clock import SystemClock
from support.kafka.stillness import Stillness
from support.observer.observing import PATIENCE_S, beside, create_topic, eventually, observing
from support.scenarios.scenario_parts import (
    EAGER,
    REPORTING,
    Grow,
    Join,
    Kill,
    Leave,
    Restart,
    Scenario,
    Slow,
    WaitAt,
    step,
)
from support.scenarios.start_member import STREAMS_INPUT, STREAMS_OUTPUT, start_member
from support.scenarios.step_results import PartitionStall, StepResult
from support.scenarios.topic_records import TopicRecords

AT_ONCE = 4
"""Number of concurrent scenarios; two processors are too slow for more."""

KINDS = ("generation", "aborted", "group_gone")


class ScenarioRunner:
    """Runs scenarios on one cluster, with an observer, a sidecar and a reader of their topics."""

    def __init__(self, kafka, stack, scenarios, *, accepts=lambda _group: True, **settings):
        """Create the scenarios' topics long before members join, because a coordinator detects new topics one by one.

        ``accepts``: whether a name may be used for a group.
        """
        self.kafka = kafka
        self.clock = SystemClock()
        self._last = Scenario("last", "confluent", (step(Join("last"), then=()),), EAGER, partitions=1)
        self._unique = uuid.uuid4().hex[:8]
        self._names = {each.name: filter(accepts, self._numbered(each.name)) for each in (*scenarios, self._last)}
        self._groups, self._topics = {}, set()
        bootstrap, published = kafka.bootstrap_servers, f"events-{self._unique}"
        self._replicas = min(len(kafka.node_ids), 3)
        for each in (*scenarios, self._last):
            if each.client == "streams":
                create_topic(bootstrap, STREAMS_OUTPUT, 1, self._replicas)
            self._set(each)
        defaults = {"events_topic": published, "settle_seconds": 1.5, "topics_interval_seconds": 0.5}
        self.observer = stack.enter_context(observing(bootstrap, **{**defaults, **settings}))
        self.sidecar = stack.enter_context(beside(bootstrap, events_topic=published))
        self.records = stack.enter_context(TopicRecords(bootstrap, published))
        self.stillness = stack.enter_context(Stillness(bootstrap))
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._input = threading.Lock()

    def group(self, scenario):
        """The name of its group, and of its topic."""
        return self._groups[scenario.name]

    def recorded(self, scenario, stall):
        """The part of a stall that the coordinator's records show."""
        topic, number = stall.partition
        since_and_until_ms = self.records.recorded_stall(self.group(scenario), number, stall.from_ms, stall.until_ms)
        return PartitionStall((topic, number), *since_and_until_ms)

    def unowned(self, scenario, result):
        """Stalls of a step by the records alone, for a group whose members do not report callbacks."""
        found = self.records.unowned(self.group(scenario), result.started_ms, result.stable_ms)
        return [PartitionStall(*each) for each in found]

    def _numbered(self, name):
        return (f"{name}-{self._unique}-{number}" for number in itertools.count())

    def _set(self, scenario):
        """Create a new group and its topic."""
        self._groups[scenario.name] = next(self._names[scenario.name])
        if (topic := self.topic(scenario)) not in self._topics:
            create_topic(self.kafka.bootstrap_servers, topic, scenario.partitions, self._replicas)
            self._topics.add(topic)

    def topic(self, scenario):
        """The topic of the scenario; Kafka Streams' example has its own."""
        return STREAMS_INPUT if scenario.client == "streams" else self.group(scenario)

    def run(self, scenario):
        """Execute all steps in order and return their results, without events: `run_all` adds those."""
        with ExitStack() as stack:
            group = _ScenarioGroup(self, scenario, stack)
            return [group.execute(each) for each in scenario.steps]

    def run_all(self, scenarios, at_once=AT_ONCE, attempts=1):
        """Run several scenarios at the same time: name -> the results of its steps, or its exception.

        A scenario during which the brokers paused is run again, up to ``attempts`` times in all.
        """

        def run_once(scenario, again):
            try:
                if again:
                    self._set(scenario)
                return self.run(scenario)
            except BaseException as error:  # noqa: BLE001 - the scenario's own test raises it
                return error

        def run_attempts(scenario):
            for number in range(attempts):
                began_ms = self.clock.now_ms()
                result = run_once(scenario, again=number > 0)
                if not self.stillness.stood_still(began_ms):
                    break
            return result

        with ThreadPoolExecutor(at_once) as pool:
            results = dict(zip((each.name for each in scenarios), pool.map(run_attempts, scenarios), strict=True))
        self._await_events()
        for scenario in scenarios:
            if isinstance(results[scenario.name], list):
                self._collect(scenario, results[scenario.name])
        return results

    def _await_events(self):
        """Wait for the event of one more group: the events of all others were published before it."""
        self.run(self._last)
        events = lambda: self.records.events(self.group(self._last))  # noqa: E731
        eventually(lambda: any(each["kind"] == "generation" for each in events()), waiting_for="the last group's event")

    def await_reports(self):
        """Wait until the observer has read all reports, which one of its threads reads late on a busy machine.

        Late reports only revise the last two episodes of a group.
        """
        reports = self.records.reports
        received = lambda: self.observer.metric("rebalance_agent_events_received_total", kind="member") or 0  # noqa: E731
        eventually(lambda: received() >= reports, waiting_for=f"the observer to read {reports} reports")

    def _collect(self, scenario, results):
        for event in self.records.events(self.group(scenario)):
            if event["kind"] not in KINDS or event["timestamp_ms"] > results[-1].stable_ms:
                continue
            result = next((each for each in reversed(results) if each.started_ms <= event["timestamp_ms"]), results[0])
            result.events.append(event)

    def grow(self, topic, partitions):
        """Add partitions to a topic."""
        self._admin.create_partitions([NewPartitions(topic, partitions)])[topic].result()


class _ScenarioGroup:
    """One scenario's group and its members."""

    def __init__(self, runner, scenario, stack):
        self._runner = runner
        self._scenario = scenario
        self._group = runner.group(scenario)
        self._topic = runner.topic(scenario)
        self._partitions = scenario.partitions
        self._members = {}
        self._joins = {}
        self._departed = []
        self._reported = 0
        stack.callback(self._end)

    def execute(self, step):
        """Execute the actions of a step and wait until the group is stable."""
        result = StepResult(step, self._runner.clock.now_ms())
        for action in step.actions:
            self._execute(action)
        since_ms = result.started_ms if step.episodes else 0
        eventually(lambda: self._stable(since_ms), waiting_for=self, between=self._check)
        self._runner.await_reports()
        result.stable_ms = self._runner.records.stable_group(self._group).timestamp_ms
        calls = [call for member in (*self._departed, *self._members.values()) for call in member.calls()]
        result.calls = [call for call in calls if call.returned_ms >= result.started_ms]
        return result

    def _execute(self, action):
        match action:
            case Join():
                self._joins[action.name] = action
                self._members[action.name] = start_member(self._runner.kafka, self._config(action))
            case Leave():
                self._leave(action.name).close()
            case Kill():
                self._leave(action.name).kill()
            case Restart():
                self._leave(action.name).close()
                join = self._joins[action.name]
                self._execute(replace(join, settings={**join.settings, **action.settings}))
            case WaitAt():
                action.barrier.wait(PATIENCE_S)
            case Slow():
                self._members[action.name].slow(action.seconds)
            case Grow():
                self._partitions = action.partitions
                self._runner.grow(self._topic, action.partitions)

    def _leave(self, name):
        member = self._members.pop(name)
        self._departed.append(member)
        return member

    def _config(self, join):
        client = join.settings.get("client", self._scenario.client)
        settings = {**self._scenario.settings, **join.settings}
        settings.pop("client", None)
        return {
            "client": client,
            "bootstrap": self._runner.kafka.bootstrap_servers,
            "group": self._group,
            "topics": [self._topic],
            "name": join.name,
            "killable": join.killable,
            "settings": {name: value for name, value in settings.items() if value is not None},
            "events_url": f"http://127.0.0.1:{self._runner.sidecar.role.events_port}",
            "directory": str(self._runner.kafka.directory),
        }

    def _stable(self, since_ms):
        """Whether exactly the expected members have all partitions, also according to their own callbacks."""
        group = self._runner.records.stable_group(self._group)
        wanted = self._partitions * self._scenario.each
        if group is None or group.timestamp_ms < since_ms or group.clients != tuple(sorted(self._members)):
            return False
        held = [member.held() for member in self._members.values()]
        known = None in held or sum(held) == wanted
        return (
            known
            and self._reports_arrived()
            and (group.partitions == wanted or (self._scenario.client == "share" and group.partitions > wanted))
        )

    def _reports_arrived(self):
        """Whether the reports of its members have arrived; a killed member sends no more."""
        last = [
            next((call for call in reversed(member.calls()) if call.partitions), None)
            for name, member in self._members.items()
            if self._joins[name].settings.get("client", self._scenario.client) in REPORTING
        ]
        return all(
            self._runner.records.has_report(self._group, call.member, call.kind, call.returned_ms)
            for call in last
            if call
        )

    def __str__(self):
        held = {name: member.held() for name, member in self._members.items()}
        return f"{self._group}: {held} of {self._partitions}\n{self._runner.records.latest(self._group)}"

    def _check(self):
        for name, member in self._members.items():
            assert member.error is None, f"{name}: {member.error!r}"

    def _end(self):
        with ExitStack() as stack:
            for member in self._members.values():
                stack.callback(member.end)
