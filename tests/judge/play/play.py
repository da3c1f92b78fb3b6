"""Plays a run of some minutes with cluster, observers, groups and faults, and writes a folder of evidence."""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack
from shutil import copyfile

from judge.members.account import now_ms
from judge.play.brokers import Inflictions
from judge.play.faults import Faults
from judge.play.lives import Life, begin_all, end_all
from judge.play.observers import Observer
from judge.play.readers import Reader
from judge.play.run_context import BROKER, OFFSETS, OFFSETS_PARTITIONS, RunContext
from judge.play.schedule import FAULTS
from judge.play.source import Source
from judge.play.topic_ids import topic_ids
from rebalance_agent.testing import EmbeddedKafka
from rebalance_agent.testing.kafka.broker_settings import free_ports

QUIET_S, QUIET_MAX_S = 20, 90
"""Seconds without any event before the run is judged, and the longest wait for that."""

PROGRESS_S = 15
LATE_MAX_S = 600
"""Longest extension of a run, to play each fault often enough."""

KEPT, LONE = "kept", "lone"
EVENTS = {KEPT: "rebalance-events-kept", LONE: "rebalance-events"}
"""The observer that is never killed, and the one that is; each publishes to its own topic."""


class RunError(Exception):
    """The run cannot continue, so that nothing can be judged."""


def play(options, groups, folder):
    """Play a run; the evidence is in ``folder`` afterwards, also after Ctrl-C or an error."""
    properties = {**BROKER}
    with EmbeddedKafka(3, properties, startup_timeout=180, racks=("a", "b", "c")) as kafka:
        context = RunContext(kafka, folder, options.seed)
        groups = [group for group in groups if group.program != "go" or context.go_member]
        facts = {"seed": options.seed, "groups": {group.name: _reported(group) for group in groups}, "began": now_ms()}
        chosen = FAULTS if options.faults is None else options.faults
        facts["wanted"] = sorted({change for group in groups for change in group.changes}.union(chosen))
        (folder / "run.json").write_text(json.dumps(facts, indent=1))
        try:
            _play(context, options, groups, folder)
        finally:
            for number, path in kafka.logs.items():
                copyfile(path, folder / f"broker-{number}.log")


def _reported(group):
    return {
        "kind": group.kind,
        "type": group.type,
        "commit_ms": group.commit_ms,
        "session_ms": group.session_ms,
        "static": group.static,
        "poll_ms": group.poll_ms,
    }


def _play(context, options, groups, folder):
    context.create_topics(groups)
    with ExitStack() as stack:
        ports = free_ports(2)
        shared = ("--groups-deny", "judge-.*|transactions-.*|__.*")
        observers = {
            KEPT: Observer(KEPT, context, EVENTS[KEPT], ports[0], "--state-topic", "", *shared),
            LONE: Observer(LONE, context, EVENTS[LONE], ports[1], *shared),
        }
        for each in observers.values():
            stack.callback(each.end)
            each.start()
        if not all(each.wait_ready() for each in observers.values()):
            raise RunError(f"an observer did not become ready: see {folder}")
        bootstrap = context.kafka.bootstrap_servers
        records = Reader(bootstrap, OFFSETS, OFFSETS_PARTITIONS, folder / "records.ndjson")
        stack.callback(records.end)
        events = {name: Reader(bootstrap, topic, _size(context, topic), folder / f"events-{name}.ndjson")
                  for name, topic in EVENTS.items()}  # fmt: skip
        for each in events.values():
            stack.callback(each.end)
        source = Source(context, groups)
        stack.callback(source.end)
        lives = [Life(group, context) for group in groups]
        faults = Faults(context, Inflictions(context, observers[LONE]).inflict, options.faults)
        stack.callback(end_all, lives)
        stack.callback(context.over.set)
        begin_all(lives)
        faults.begin()
        _watch(context, options, lives, faults, observers, events)
        _calm(context, lives, faults, observers, events)
        (folder / "topics.json").write_text(json.dumps(topic_ids(context.admin())))
        print("  played:", json.dumps(_played(lives, faults)), flush=True)
        (folder / "played.json").write_text(json.dumps(_played(lives, faults)))


def _size(context, topic):
    for _ in range(100):
        found = context.admin().list_topics(topic, 10).topics[topic]
        if found.partitions and found.error is None:
            return len(found.partitions)
        context.over.wait(0.2)
    raise RunError(f"no observer created the topic {topic}")


def _watch(context, options, lives, faults, observers, events):
    """Wait for the end of the run. On a slow machine it takes longer, so that no fault is missing."""
    until = now_ms() + options.minutes * 60_000
    while (left_s := (until - now_ms()) / 1000) > 0 or (left_s > -LATE_MAX_S and faults.few(options.minutes)):
        context.over.wait(min(PROGRESS_S, left_s) if left_s > 0 else PROGRESS_S)
        members = sum(life.running for life in lives)
        played = sum(sum(life.played.values()) for life in lives)
        print(
            f"  {left_s:5.0f} s left; {members} members, {played} changes played, "
            f"events {', '.join(f'{name} {each.count}' for name, each in events.items())}",
            flush=True,
        )
        for life in lives:
            if life.failed:
                raise RunError(f"the group {life.group.name} cannot continue") from life.failed
        if not observers[KEPT].running:
            raise RunError("the observer ended by itself: see kept.log")


def _calm(context, lives, faults, observers, events):
    """Start nothing new, let running changes end, and wait until all their events can have arrived."""
    context.over.set()
    print("  no new change begins; waiting for the last events", flush=True)
    for each in (faults, *lives):
        each.join()
    pause, until = threading.Event(), now_ms() + QUIET_MAX_S * 1000
    context.acts.note("calm")
    calm = now_ms()
    while now_ms() < until and now_ms() - max(calm, *(each.last_ms for each in events.values())) < QUIET_S * 1000:
        pause.wait(0.5)
    for each in observers.values():
        if each.running:
            each.scrape()
    context.acts.note("ended")


def _played(lives, faults):
    changes = {}
    for life in lives:
        for name, count in life.played.items():
            changes[name] = changes.get(name, 0) + count
    return {"changes": changes, "faults": dict(faults.played)}
