"""Observers in processes that can be killed, and groups that rebalance at the same time."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from support.observer.observing import PATIENCE_S, Watched, everything, members

SESSION_MS = 6_000
"""The shortest session timeout that brokers allow by default: the coordinator removes a killed replica after it."""


@contextmanager
def replica(bootstrap, kafka=None, **settings):
    """``rebalance-agent observe`` as a `Watched` with its ``process``; it is terminated at the end.

    ``kafka``: further properties of its Kafka clients.
    """
    chosen = {"listen": "127.0.0.1:0", "log_format": "json", "settle_seconds": 1, **settings}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in chosen.items()]
    runner = "rebalance_agent.demo.processes.exit_with_parent"  # it ends with these tests in any case
    command = [sys.executable, "-m", runner, "rebalance_agent.cli.main", "observe", "--bootstrap-servers", bootstrap]
    properties = {"session.timeout.ms": SESSION_MS, **(kafka or {})}
    command += [word for name, value in properties.items() for word in ("--kafka", f"{name}={value}")] + flags
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        watched = Watched(SimpleNamespace(port=_port(process)))
        watched.process, watched.log = process, []
        reader = threading.Thread(target=watched.log.extend, args=(process.stderr,), daemon=True)
        reader.start()
        try:
            yield watched
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(PATIENCE_S)
            reader.join(PATIENCE_S)


def kill(watched):
    """Kill a replica with SIGKILL."""
    watched.process.send_signal(signal.SIGKILL)
    watched.process.wait(PATIENCE_S)


def _port(process):
    for line in process.stderr:
        reported = json.loads(line)
        if reported["event"] == "listening":
            return reported["port"]
    raise AssertionError("it ended without listening")


@contextmanager
def unrest(bootstrap, topic, groups, pause_s=0.5):
    """Each group keeps one member; a second one joins and leaves repeatedly, until the block ends."""
    stop = threading.Event()

    def rebalance(group):
        while not stop.wait(pause_s):
            with members(bootstrap, group, topic):
                stop.wait(pause_s)

    with ExitStack() as stack:
        for group in groups:
            stack.enter_context(members(bootstrap, group, topic))
        threads = [threading.Thread(target=rebalance, args=(group,), daemon=True) for group in groups]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join(PATIENCE_S)


def generations(bootstrap, groups):
    """Group -> its generations with members in the offsets topic, in order."""
    found = {group: [] for group in groups}
    for message in everything(bootstrap, "__consumer_offsets"):
        if record_kind(message.key()) != "group_metadata" or message.value() is None:
            continue
        record = decode_record(message.key(), message.value())
        if record.group in found and record.value["members"]:
            assert message.partition() == offsets_partition(record.group, 4)
            found[record.group].append(record.value["generation"])
    return {group: [number for number, _ in itertools.groupby(numbers)] for group, numbers in found.items()}


def published(bootstrap, topic, groups):
    """Group -> published generations with members, each event id once, in order; and the number of repeated events."""
    found = {group: {} for group in groups}
    again = 0
    for message in everything(bootstrap, topic):
        event = json.loads(message.value())
        if event["kind"] == "generation" and event["group"] in found and event["members"]:
            again += event["event_id"] in found[event["group"]]
            found[event["group"]].setdefault(event["event_id"], event["generation"])
    return {group: sorted(reported.values()) for group, reported in found.items()}, again
