"""Programs in other languages post their rebalances themselves, and the observer measures exact stalls."""

from __future__ import annotations

import os
import subprocess
import threading
import uuid
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.members.member_lines import KAFKAJS_MEMBER
from support.observer.observing import beside, create_topic, events, eventually, observing
from support.runner.node import NODE, packages

pytestmark = pytest.mark.integration

PROGRAM = Path(__file__).parents[3] / "examples" / "kafkajs_reporting.js"
LINES_MAX = 80
TRIES = 4
PATIENCE_S = 60


class Program:
    """The program as a process; ``shown``: its lines, ``errors``: its other output."""

    def __init__(self, url, *arguments):
        modules = packages("kafkajs", KAFKAJS_MEMBER) / "node_modules"
        environment = {**os.environ, "NODE_PATH": str(modules), "REBALANCE_AGENT_EVENTS_URL": url}
        self.shown, self.errors = [], []
        self._process = subprocess.Popen(
            [NODE, str(PROGRAM), *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._threads = [
            threading.Thread(target=into.extend, args=[stream], daemon=True)
            for stream, into in ((self._process.stdout, self.shown), (self._process.stderr, self.errors))
        ]
        for each in self._threads:
            each.start()

    def close(self):
        """Let the consumer leave its group, and wait for the end."""
        self._process.stdin.close()
        try:
            assert self._process.wait(PATIENCE_S) == 0, self.errors
        finally:
            self._process.kill()
            self._process.wait()
            for each in self._threads:
                each.join(PATIENCE_S)
            self._process.stdout.close()
            self._process.stderr.close()


@contextmanager
def running(*arguments):
    program = Program(*arguments)
    try:
        yield program
    finally:
        program.close()


def test_the_program_is_short():
    assert len(PROGRAM.read_text(encoding="utf-8").splitlines()) < LINES_MAX


def test_two_members_of_kafkajs_report_and_their_stall_is_exact(kafka):
    bootstrap, unique = kafka.bootstrap_servers, uuid.uuid4().hex[:8]
    topic, group, published = f"topic-{unique}", f"group-{unique}", f"events-{unique}"
    create_topic(bootstrap, topic, 4)

    def stalls():
        """The stalls of the rebalances in which the second member joined, by the last revision of each."""
        last = {event["event_id"]: event for event in events(bootstrap, published, group=group)}
        return [event["stall"] for event in last.values() if "stall" in event and len(event["members"]) == 2]

    with (
        observing(bootstrap, events_topic=published, settle_seconds=3) as observer,
        beside(bootstrap, events_topic=published) as sidecar,
    ):
        url = f"http://127.0.0.1:{sidecar.role.events_port}/v1/events"
        with running(url, bootstrap, topic, group, "one") as one:
            eventually(lambda: observer.metric("kafka_rebalance_members", consumergroup=group) == 1)
            eventually(lambda: observer.metric("kafka_rebalance_partitions_unassigned", consumergroup=group) == 0)
            # While a new broker loads its coordinators, the first stall may be a bound; later ones are exact.
            for _ in range(TRIES):
                before = len(stalls())
                with running(url, bootstrap, topic, group, "two") as two:
                    eventually(lambda: len(stalls()) > before, waiting_for=(one.errors, two.errors))  # noqa: B023
                if stalls()[-1]["basis"] == "exact":
                    break
        assert stalls()[-1]["basis"] == "exact"
        members = [event for event in events(bootstrap, published, group=group) if event["kind"] == "member"]
    assert {event["client_id"] for event in members} == {"one", "two"}
    assert {"revoked", "assigned", "left"} <= {event["callback"] for event in members}
    assert len({event["event_id"] for event in members}) == len(members)
    assert not [line for line in one.errors if "refused" in line]
