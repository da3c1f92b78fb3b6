"""Scripted scenarios: real members do what a table says, and the real observer's episodes are compared with it.

A scenario is a list of acts; an act's steps are taken when the group has come to rest after the act before, as the
offsets topic tells. `Stage.play` says what happened; nothing is compared here.
"""

from __future__ import annotations

import itertools
import threading
import uuid
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from confluent_kafka.admin import AdminClient, NewPartitions

from rebalance_agent.clock import SystemClock

from .observing import PATIENCE_S, beside, create_topic, eventually, observing
from .scenario_cast import STREAMS_INPUT, STREAMS_OUTPUT, cast
from .scenario_journal import Journal

SESSION_S = 5.0
NAMES_MAX = 100
KINDS = ("generation", "aborted", "group_gone")
BROKER = {
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    **{
        f"group.{kind}.{name}": value
        for kind in ("consumer", "share", "streams")
        for name, value in {
            "session.timeout.ms": f"{SESSION_S * 1000:.0f}",
            "min.session.timeout.ms": "1000",
            "heartbeat.interval.ms": "300",
            "min.heartbeat.interval.ms": "100",
        }.items()
    },
    "group.streams.initial.rebalance.delay.ms": "0",
}
"""Server properties with which a scenario takes seconds: what a member that is gone costs is a session timeout."""

CLASSIC = {"session.timeout.ms": f"{SESSION_S * 1000:.0f}", "heartbeat.interval.ms": "200"}
REFRESHED = {"topic.metadata.refresh.interval.ms": "500", "metadata.max.age.ms": "1500"}
EAGER = {**CLASSIC, **REFRESHED, "partition.assignment.strategy": "range"}
COOPERATIVE = {**CLASSIC, **REFRESHED, "partition.assignment.strategy": "cooperative-sticky"}
CONSUMER = {"group.protocol": "consumer"}


def kafka_python(strategy, **more):
    """Settings of a kafka-python member."""
    return {
        "partition_assignment_strategy": [strategy],
        "session_timeout_ms": 10_000,  # its listener runs on the thread that also sends heartbeats
        "heartbeat_interval_ms": 200,
        "metadata_max_age_ms": 1_000,
        **more,
    }


@dataclass(frozen=True)
class Join:
    """A new member; ``settings`` are on top of the scenario's."""

    name: str
    settings: dict = field(default_factory=dict)
    killable: bool = False


@dataclass(frozen=True)
class Leave:
    """A member closes."""

    name: str


@dataclass(frozen=True)
class Kill:
    """A member's process is killed."""

    name: str


@dataclass(frozen=True)
class Restart:
    """A member closes and starts again as it was: a static one under its old instance id."""

    name: str


@dataclass(frozen=True)
class Slow:
    """From now on it takes a member so long to give partitions up."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Grow:
    """The topic gets more partitions."""

    partitions: int


@dataclass(frozen=True)
class Meet:
    """Wait until every scenario has come this far; the barrier's action is then done once."""

    barrier: threading.Barrier


@dataclass(frozen=True)
class Episode:
    """What must be published of one rebalance. ``slow``: who must be named as the slowest, None if anybody may be.

    ``early_s``: how much earlier than the coordinator can know a member may have stopped that reports to nobody and
    gives up of its own accord: to rejoin an eager group, or as a static member. It stops first, and then says so.
    """

    causes: tuple[str, ...]
    moved: int = 0
    generations: int = 1
    noop: bool = False
    slow: str | None = None
    early_s: float = 0.0


@dataclass(frozen=True)
class Act:
    """Steps taken at once, and the episodes that they must cause."""

    steps: tuple
    episodes: tuple[Episode, ...]


def act(*steps, then):
    """An `Act` from its steps; ``then`` is one episode or several."""
    return Act(steps, (then,) if isinstance(then, Episode) else tuple(then))


@dataclass(frozen=True)
class Scenario:
    """``each``: how many partitions (for a streams group, tasks) the members have for each partition of the topic."""

    name: str
    client: str
    acts: tuple[Act, ...]
    settings: dict = field(default_factory=dict)
    partitions: int = 6
    topic: str | None = None
    each: int = 1


@dataclass
class Played:
    """One act as it went: events whose records are of its time, callbacks of its time, and how the group rested."""

    act: Act
    started_ms: int
    rested_ms: int = 0
    events: list = field(default_factory=list)
    calls: list = field(default_factory=list)

    @property
    def closing(self):
        """The events that close an episode."""
        return [each for each in self.events if each["kind"] == "generation" and each["closes_episode"]]

    @property
    def episodes(self):
        """What was published, in the terms of the table."""
        return tuple(map(_episode, self.closing))

    def measured_stall(self):
        """Seconds that the longest stop of a partition lasted, by its members' own callbacks; None if none did."""
        stopped, stalls = {}, []
        for call in sorted(self.calls, key=lambda each: each.returned_ms):
            for partition in call.partitions:
                if call.kind != "assigned":
                    stopped.setdefault(partition, call.entered_ms)
                elif partition in stopped:
                    stalls.append(call.returned_ms - stopped.pop(partition))
        return max(stalls) / 1000 if stalls else None


def _episode(event):
    slowest = event.get("slowest_member_id")
    names = {each["member_id"]: each["client_id"] for each in event["members"]}
    return Episode(
        causes=tuple(event["causes"]),
        moved=event["moved"],
        generations=event["followups"] + 1,
        noop=event["noop"],
        slow=names.get(slowest, slowest),
    )


def compared(played):
    """(What the table expects, what was published without what the table leaves open) of a whole scenario, as lines."""
    expected, published = [], []
    for each in played:
        steps = ", ".join(map(str, each.act.steps))
        expected += [f"{steps}: {replace(episode, early_s=0.0)}" for episode in each.act.episodes]
        for wanted, episode in itertools.zip_longest(each.act.episodes, each.episodes):
            if episode is not None:
                open_ = wanted is not None and wanted.slow is None
                published.append(f"{steps}: {replace(episode, slow=None) if open_ else episode}")
    return expected, published


class Stage:
    """A cluster with everything that watches it. One scenario a thread."""

    def __init__(self, kafka, stack, scenarios, *, suits=lambda _group: True, **settings):
        """Create the scenarios' topics, well before members come: else a coordinator notices them one by one.

        ``suits`` says whether a name will do for a group.
        """
        self.kafka = kafka
        self.clock = SystemClock()
        self._last = Scenario("curtain", "confluent", (act(Join("last"), then=()),), EAGER, partitions=1)
        self._unique = uuid.uuid4().hex[:8]
        self._groups = {
            each.name: next(name for name in self._names(each) if suits(name)) for each in (*scenarios, self._last)
        }
        bootstrap, published = kafka.bootstrap_servers, f"events-{self._unique}"
        replicas = min(len(kafka.node_ids), 3)
        for each in (*scenarios, self._last):
            if each.client == "streams":
                create_topic(bootstrap, STREAMS_OUTPUT, 1, replicas)
            create_topic(bootstrap, self.topic(each), each.partitions, replicas)
        usual = {"events_topic": published, "settle_seconds": 1.5, "topics_interval_seconds": 0.5}
        self.observer = stack.enter_context(observing(bootstrap, **{**usual, **settings}))
        self.sidecar = stack.enter_context(beside(bootstrap, events_topic=published))
        self.journal = stack.enter_context(Journal(bootstrap, published))
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._input = threading.Lock()

    def group(self, scenario):
        """The name of its group, and of its topic."""
        return self._groups[scenario.name]

    def _names(self, scenario):
        return (f"{scenario.name}-{self._unique}-{number}" for number in range(NAMES_MAX))

    def topic(self, scenario):
        """Its topic; Kafka Streams' example has one of its own."""
        return STREAMS_INPUT if scenario.client == "streams" else self.group(scenario)

    def play(self, scenario):
        """Every act in turn; the acts' events are still to be collected."""
        with ExitStack() as stack:
            troupe = _Troupe(self, scenario, stack)
            return [troupe.perform(each) for each in scenario.acts]

    def play_all(self, scenarios):
        """All at once: name -> what `play` gave, or the exception that ended it."""
        results = {}

        def play(scenario):
            try:
                results[scenario.name] = self.play(scenario)
            except BaseException as error:  # noqa: BLE001 - the scenario's own test fails with it
                results[scenario.name] = error

        threads = [threading.Thread(target=play, args=(each,), daemon=True) for each in scenarios]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self._curtain()
        for scenario in scenarios:
            if isinstance(results[scenario.name], list):
                self._collect(scenario, results[scenario.name])
        return results

    def _curtain(self):
        """Wait until a group that comes after all others has its event: theirs were published before."""
        self.play(self._last)
        events = lambda: self.journal.events(self.group(self._last))  # noqa: E731
        eventually(lambda: any(each["kind"] == "generation" for each in events()), told="the last group's event")

    def _collect(self, scenario, played):
        for event in self.journal.events(self.group(scenario)):
            if event["kind"] not in KINDS or event["timestamp_ms"] > played[-1].rested_ms:
                continue
            part = next((each for each in reversed(played) if each.started_ms <= event["timestamp_ms"]), played[0])
            part.events.append(event)

    def grow(self, topic, partitions):
        """Give a topic more partitions."""
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
        self._told = 0
        stack.callback(self._end)

    def perform(self, what):
        """Take the steps, wait until the group rests."""
        played = Played(what, self._stage.clock.now_ms())
        for step in what.steps:
            self._take(step)
        since_ms = played.started_ms if what.episodes else 0
        eventually(lambda: self._rests(since_ms), told=self, between=self._check)
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
                self._take(self._joins[step.name])
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
        """Whether exactly the members that should be there share all partitions, and know it themselves."""
        rest = self._stage.journal.resting(self._group)
        wanted = self._partitions * self._scenario.each
        if rest is None or rest.timestamp_ms < since_ms or rest.clients != tuple(sorted(self._members)):
            return False
        held = [member.held() for member in self._members.values()]
        known = None in held or sum(held) == wanted
        return known and (rest.partitions == wanted or (self._scenario.client == "share" and rest.partitions > wanted))

    def __str__(self):
        held = {name: member.held() for name, member in self._members.items()}
        return f"{self._group}: {held} of {self._partitions}\n{self._stage.journal.latest(self._group)}"

    def _check(self):
        for name, member in self._members.items():
            assert member.error is None, f"{name}: {member.error!r}"

    def _end(self):
        with ExitStack() as stack:
            for member in self._members.values():
                stack.callback(member.close)
