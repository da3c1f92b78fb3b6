"""Scripted scenarios: real members do what a table says, and the real observer's episodes are compared with it.

A scenario is a list of acts; an act's steps are taken when the group has come to rest after the act before, as the
offsets topic shows. `Stage.play` says what happened; nothing is compared here.
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
    Meet,
    Restart,
    Scenario,
    Slow,
    act,
)
from support.scenarios.start_member import STREAMS_INPUT, STREAMS_OUTPUT, cast
from support.scenarios.step_results import Played, Standstill
from support.scenarios.topic_records import Journal

AT_ONCE = 4
"""Number of scenarios at the same time: more would wait for each other on two processors."""

KINDS = ("generation", "aborted", "group_gone")


class Stage:
    """A cluster with its observer and its journal."""

    def __init__(self, kafka, stack, scenarios, *, suits=lambda _group: True, **settings):
        """Create the scenarios' topics long before members join: otherwise a coordinator notices them one by one.

        ``suits`` says whether a name will do for a group.
        """
        self.kafka = kafka
        self.clock = SystemClock()
        self._last = Scenario("curtain", "confluent", (act(Join("last"), then=()),), EAGER, partitions=1)
        self._unique = uuid.uuid4().hex[:8]
        self._names = {each.name: filter(suits, self._numbered(each.name)) for each in (*scenarios, self._last)}
        self._groups, self._topics = {}, set()
        bootstrap, published = kafka.bootstrap_servers, f"events-{self._unique}"
        self._replicas = min(len(kafka.node_ids), 3)
        for each in (*scenarios, self._last):
            if each.client == "streams":
                create_topic(bootstrap, STREAMS_OUTPUT, 1, self._replicas)
            self._set(each)
        usual = {"events_topic": published, "settle_seconds": 1.5, "topics_interval_seconds": 0.5}
        self.observer = stack.enter_context(observing(bootstrap, **{**usual, **settings}))
        self.sidecar = stack.enter_context(beside(bootstrap, events_topic=published))
        self.journal = stack.enter_context(Journal(bootstrap, published))
        self.stillness = stack.enter_context(Stillness(bootstrap))
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._input = threading.Lock()

    def group(self, scenario):
        """The name of its group, and of its topic."""
        return self._groups[scenario.name]

    def known(self, scenario, standstill):
        """The part of a stall that the coordinator's records show."""
        topic, number = standstill.partition
        since_and_until_ms = self.journal.known(self.group(scenario), number, standstill.from_ms, standstill.until_ms)
        return Standstill((topic, number), *since_and_until_ms)

    def unheld(self, scenario, played):
        """Stalls of an act by the records alone, for a group whose members do not report callbacks."""
        found = self.journal.unheld(self.group(scenario), played.started_ms, played.rested_ms)
        return [Standstill(*each) for each in found]

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

    def play(self, scenario):
        """Execute all acts in order; the acts' events are collected later."""
        with ExitStack() as stack:
            troupe = _Troupe(self, scenario, stack)
            return [troupe.perform(each) for each in scenario.acts]

    def play_all(self, scenarios, at_once=AT_ONCE, plays=1):
        """Run several scenarios at the same time: name -> the result of `play`, or its exception.

        One during which the brokers stood still is played again, ``plays`` times in all at most.
        """

        def play_once(scenario, again):
            try:
                if again:
                    self._set(scenario)
                return self.play(scenario)
            except BaseException as error:  # noqa: BLE001 - the scenario's own test fails with it
                return error

        def play(scenario):
            for number in range(plays):
                began_ms = self.clock.now_ms()
                result = play_once(scenario, again=number > 0)
                if not self.stillness.stood_still(began_ms):
                    break
            return result

        with ThreadPoolExecutor(at_once) as pool:
            results = dict(zip((each.name for each in scenarios), pool.map(play, scenarios), strict=True))
        self._curtain()
        for scenario in scenarios:
            if isinstance(results[scenario.name], list):
                self._collect(scenario, results[scenario.name])
        return results

    def _curtain(self):
        """Wait for the event of a group that joins after all others: their events were published before."""
        self.play(self._last)
        events = lambda: self.journal.events(self.group(self._last))  # noqa: E731
        eventually(lambda: any(each["kind"] == "generation" for each in events()), waiting_for="the last group's event")

    def _collect(self, scenario, played):
        for event in self.journal.events(self.group(scenario)):
            if event["kind"] not in KINDS or event["timestamp_ms"] > played[-1].rested_ms:
                continue
            part = next((each for each in reversed(played) if each.started_ms <= event["timestamp_ms"]), played[0])
            part.events.append(event)

    def grow(self, topic, partitions):
        """Add partitions to a topic."""
        self._admin.create_partitions([NewPartitions(topic, partitions)])[topic].result()


class _Troupe:
    """The members of one scenario's group."""

    def __init__(self, stage, scenario, stack):
        self._stage = stage
        self._scenario = scenario
        self._group = stage.group(scenario)
        self._topic = stage.topic(scenario)
        self._partitions = scenario.partitions
        self._members = {}
        self._joins = {}
        self._departed = []
        self._reported = 0
        stack.callback(self._end)

    def perform(self, what):
        """Execute the steps and wait until the group is stable."""
        played = Played(what, self._stage.clock.now_ms())
        for step in what.steps:
            self._take(step)
        since_ms = played.started_ms if what.episodes else 0
        eventually(lambda: self._rests(since_ms), waiting_for=self, between=self._check)
        played.rested_ms = self._stage.journal.resting(self._group).timestamp_ms
        calls = [call for member in (*self._departed, *self._members.values()) for call in member.calls()]
        played.calls = [call for call in calls if call.returned_ms >= played.started_ms]
        return played

    def _take(self, step):
        match step:
            case Join():
                self._joins[step.name] = step
                self._members[step.name] = cast(self._stage.kafka, self._config(step))
            case Leave():
                self._leave(step.name).close()
            case Kill():
                self._leave(step.name).kill()
            case Restart():
                self._leave(step.name).close()
                join = self._joins[step.name]
                self._take(replace(join, settings={**join.settings, **step.settings}))
            case Meet():
                step.barrier.wait(PATIENCE_S)
            case Slow():
                self._members[step.name].slow(step.seconds)
            case Grow():
                self._partitions = step.partitions
                self._stage.grow(self._topic, step.partitions)

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
            "bootstrap": self._stage.kafka.bootstrap_servers,
            "group": self._group,
            "topics": [self._topic],
            "name": join.name,
            "killable": join.killable,
            "settings": {name: value for name, value in settings.items() if value is not None},
            "events_url": f"http://127.0.0.1:{self._stage.sidecar.role.events_port}",
            "directory": str(self._stage.kafka.directory),
        }

    def _rests(self, since_ms):
        """Whether exactly the expected members have all partitions, also by their own callbacks."""
        rest = self._stage.journal.resting(self._group)
        wanted = self._partitions * self._scenario.each
        if rest is None or rest.timestamp_ms < since_ms or rest.clients != tuple(sorted(self._members)):
            return False
        held = [member.held() for member in self._members.values()]
        known = None in held or sum(held) == wanted
        return (
            known
            and self._reports_arrived()
            and (rest.partitions == wanted or (self._scenario.client == "share" and rest.partitions > wanted))
        )

    def _reports_arrived(self):
        """Whether the reports of its members have arrived; a killed member sends no more."""
        last = [
            next((call for call in reversed(member.calls()) if call.partitions), None)
            for name, member in self._members.items()
            if self._joins[name].settings.get("client", self._scenario.client) in REPORTING
        ]
        return all(
            self._stage.journal.has_report(self._group, call.member, call.kind, call.returned_ms)
            for call in last
            if call
        )

    def __str__(self):
        held = {name: member.held() for name, member in self._members.items()}
        return f"{self._group}: {held} of {self._partitions}\n{self._stage.journal.latest(self._group)}"

    def _check(self):
        for name, member in self._members.items():
            assert member.error is None, f"{name}: {member.error!r}"

    def _end(self):
        with ExitStack() as stack:
            for member in self._members.values():
                stack.callback(member.end)
