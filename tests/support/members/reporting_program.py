"""Runs programs in other languages, which report the rebalances of their own consumers."""

from __future__ import annotations

import os
import subprocess
import threading
import uuid
from contextlib import contextmanager

from support.observer.observing import PATIENCE_S, beside, create_topic, events, eventually, observing

PARTITIONS = 4
TRIES = 4


class Program:
    """A consumer as a process, which leaves its group at the end of standard input, or at a line there.

    ``errors``: the lines of its standard error.
    """

    def __init__(self, command, environment):
        self.errors = []
        self._process = subprocess.Popen(
            list(map(str, command)),
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._thread = threading.Thread(target=self.errors.extend, args=[self._process.stderr], daemon=True)
        self._thread.start()

    def close(self):
        """Make the consumer leave its group, and wait until the process ends."""
        self._process.stdin.write("\n")
        self._process.stdin.close()
        try:
            assert self._process.wait(PATIENCE_S) == 0, self.errors
        finally:
            self._process.kill()
            self._process.wait()
            self._thread.join(PATIENCE_S)
            self._process.stderr.close()


@contextmanager
def _running(command, environment):
    program = Program(command, environment)
    try:
        yield program
    finally:
        program.close()


def stalls_of_two(bootstrap, published, group):
    """The stalls of the rebalances that ended with two members, from the last revision of each event."""
    last = {event["event_id"]: event for event in events(bootstrap, published, group=group)}
    return [event["stall"] for event in last.values() if "stall" in event and len(event["members"]) == 2]


def two_members_report(bootstrap, *command, **environment):
    """Run ``command BOOTSTRAP TOPIC GROUP CLIENT_ID`` twice in a new group beside a sidecar.

    Return the stall of the last rebalance in which the second one joined, and the members' events.
    """
    unique = uuid.uuid4().hex[:8]
    topic, group, published = f"topic-{unique}", f"group-{unique}", f"events-{unique}"
    create_topic(bootstrap, topic, PARTITIONS)

    def stalls():
        return stalls_of_two(bootstrap, published, group)

    with (
        observing(bootstrap, events_topic=published, settle_seconds=3) as observer,
        beside(bootstrap, events_topic=published) as sidecar,
    ):
        environment["REBALANCE_AGENT_EVENTS_URL"] = f"http://127.0.0.1:{sidecar.role.events_port}/v1/events"
        arguments = [*command, bootstrap, topic, group]
        with _running([*arguments, "one"], environment) as one:
            eventually(lambda: observer.metric("kafka_rebalance_members", consumergroup=group) == 1)
            eventually(lambda: observer.metric("kafka_rebalance_partitions_unassigned", consumergroup=group) == 0)
            # While a new broker loads its coordinators, the first stall may be a bound; later ones are exact.
            for _ in range(TRIES):
                before = len(stalls())
                with _running([*arguments, "two"], environment) as two:
                    eventually(lambda: len(stalls()) > before, waiting_for=(one.errors, two.errors))  # noqa: B023
                if stalls()[-1]["basis"] == "exact":
                    break
        assert not [line for line in (*one.errors, *two.errors) if "refused" in line]
        last = stalls()[-1]
        return last, [event for event in events(bootstrap, published, group=group) if event["kind"] == "member"]
