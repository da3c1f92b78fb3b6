"""Groups live behind two gateways while their observer may not read the offsets topic; `verify` may, and compares.

The observer is killed several times, and starts again after more rebalances. ``REBALANCE_AGENT_FRAMES_MINUTES`` sets
the length, ``REBALANCE_AGENT_FRAMES_SEED`` the order of changes.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from contextlib import ExitStack, closing

import pytest

from rebalance_agent.clock import SystemClock
from support.gateway.gatewaying import gatewaying
from support.gateway.running import KafkaPython, Plain
from support.kafka.hidden_offsets import EVENTS, file_login, hidden_offsets
from support.observer.observing import eventually, everything
from support.observer.replicas import kill, replica

MINUTES = float(os.environ.get("REBALANCE_AGENT_FRAMES_MINUTES", "3"))
SEED = int(os.environ.get("REBALANCE_AGENT_FRAMES_SEED", "28"))
GROUPS_BEHIND, GROUPS_MIXED = 4, 2
MEMBERS_MAX = 4
CHANGE_S = 1.0
KILLS = 4
DOWN = 0.25
"""The part of the time in which the observer is down."""
PATIENCE_S = 120

pytestmark = [pytest.mark.slow, pytest.mark.timeout(MINUTES * 60 + 600)]

SOON = {"describe_interval_seconds": 0.5, "list_all_interval_seconds": 1, "settle_seconds": 1}
KINDS = (Plain, Plain, KafkaPython)
COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}


class Life:
    """The members of one group. ``behind``: all of them are behind gateways, otherwise about half of them."""

    def __init__(self, number, chance, gateways, bootstrap, stack, *, behind):
        self.name = f"{'behind' if behind else 'mixed'}-{number}"
        self._chance, self._stack, self._behind = chance, stack, behind
        self._gateways, self._bootstrap = gateways, bootstrap
        self._options = {} if number % 2 else COOPERATIVE
        self._kinds = (Plain,) if self._options else KINDS
        self._members, self._joined = [], 0

    def change(self):
        """One member joins or leaves."""
        if len(self._members) < MEMBERS_MAX and (not self._members or self._chance.random() < 0.55):
            beside = not self._behind and self._chance.random() < 0.5
            bootstrap = self._bootstrap if beside else self._chance.choice(self._gateways).bootstrap
            self._joined += 1
            name = f"{self.name}-{self._joined}"
            if self._chance.choice(self._kinds) is KafkaPython:
                member = KafkaPython(bootstrap, self.name, "t", name)
            else:
                member = Plain(bootstrap, self.name, "t", **{"client.id": name}, **self._options)
            self._members.append(self._stack.enter_context(closing(member)))
        else:
            self._members.pop(self._chance.randrange(len(self._members))).close()


def verified(bootstrap):
    command = [sys.executable, "-m", "rebalance_agent.cli.main", "verify", "--bootstrap-servers", bootstrap, "--json"]
    done = subprocess.run(
        [*command, "--events-topic", EVENTS, "--groups", "(behind|mixed)-.*", "--grace-seconds", "10"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def published_twice(bootstrap):
    """The events that are more than once in the topic, with the same revision."""
    events = [json.loads(message.value()) for message in everything(bootstrap, EVENTS)]
    found = Counter((each["event_id"], each["revision"]) for each in events if each["kind"] == "generation")
    return [event for event, number in found.items() if number > 1]


def test_each_generation_whose_leader_is_behind_a_gateway_is_published_with_the_assignment_of_its_record(tmp_path):
    chance, clock, pause = random.Random(SEED), SystemClock(), threading.Event()
    with hidden_offsets("PLAIN") as kafka, ExitStack() as stack:
        bootstrap, reports = kafka.bootstrap_servers, []
        gateways = [
            stack.enter_context(gatewaying(bootstrap, events_topic=EVENTS, gateway_generations=True)) for _ in range(2)
        ]
        lives = [
            Life(number, chance, gateways, bootstrap, stack, behind=number < GROUPS_BEHIND)
            for number in range(GROUPS_BEHIND + GROUPS_MIXED)
        ]

        users, properties = file_login(kafka, "PLAIN", tmp_path)

        def observer():
            return stack.enter_context(replica(users, kafka=properties, events_topic=EVENTS, **SOON))

        def live(part):
            end = clock.monotonic() + part * MINUTES * 60 / (KILLS + 1) * (0.5 + chance.random())
            while clock.monotonic() < end:
                chance.choice(lives).change()
                pause.wait(CHANGE_S * chance.random() * 2)

        watched = observer()
        for _ in range(KILLS):
            live(1 - DOWN)
            kill(watched)
            live(DOWN)
            watched = observer()
        live(1 - DOWN)

        def everything_is_published():
            reports.append(verified(bootstrap))
            return not reports[-1]["pending"]

        eventually(everything_is_published, PATIENCE_S, waiting_for=lambda: reports[-1]["summary"])
        twice = published_twice(bootstrap)
    print(f"seed {SEED}, {MINUTES:g} minutes, {KILLS} kills: {reports[-1]['summary']}")
    assert reports[-1]["clean"], reports[-1]["differences"][:20]
    assert reports[-1]["agreed"] >= 10 * MINUTES
    assert twice == []
