"""A small version of the demo's clustered group: the strategy that `whatif` recommends is better when it runs."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from contextlib import contextmanager

import pytest

from rebalance_agent.demo.scenario import group_named
from rebalance_agent.testing.simulation import SimulatedMember
from support.members.coordinating import Consumer
from support.observer.observing import create_topic, eventually, observing

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),
]

CLUSTERED = group_named("clicks-range")
TOPICS = 8  # of two partitions each, as in the demo, which has ten times as many


def whatif(group, *arguments):
    """The command as a program of its own."""
    command = [sys.executable, "-W", "error", "-m", "rebalance_agent.cli.main", "whatif", group, "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout)


class Life:
    """A group whose members join one by one; the last one leaves and returns."""

    def __init__(self, bootstrap, watched, topics, strategy):
        self.group = f"{strategy}-{uuid.uuid4().hex[:8]}"
        self._bootstrap, self._watched, self._topics, self._strategy = bootstrap, watched, topics, strategy
        self._members = {}
        self._seen = 0

    def join(self, name):
        member = SimulatedMember(
            name, self._topics, (self._strategy,), heartbeat_interval_ms=200, session_timeout_ms=30_000
        )
        self._members[name] = Consumer(self._bootstrap, self.group, member)
        self._settled()

    def leave(self, name):
        self._members.pop(name).close()
        self._settled()

    def close(self):
        for member in self._members.values():
            member.close()

    def _settled(self):
        """All partitions are with these members, and the observer has reported one more rebalance."""
        eventually(
            lambda: sum(len(some) for each in self._members.values() for some in each.owned().values()) == 2 * TOPICS
        )

        def reported():
            status, text = self._watched.get(f"/api/v1/groups/{self.group}/rebalances")
            lines = json.loads(text)["rebalances"] if status == 200 else []
            whole = lines and lines[0]["members"] == len(self._members)
            return len(lines) if whole and len(lines) > self._seen else None

        self._seen = eventually(reported)


@contextmanager
def living(bootstrap, watched, topics, strategy):
    """The demo's members until one leaves permanently, because the ends of members differ between runs."""
    names = [member.client_id for member in CLUSTERED.members]
    life = Life(bootstrap, watched, topics, strategy)
    try:
        for name in names:
            life.join(name)
        for _ in range(2):
            life.leave(names[-1])
            life.join(names[-1])
        yield life
    finally:
        life.close()


def test_the_recommended_strategy_for_the_demos_clustered_group_is_better_in_practice(kafka):
    bootstrap, unique = kafka.bootstrap_servers, uuid.uuid4().hex[:8]
    topics = tuple(f"clicks-{number:02}-{unique}" for number in range(TOPICS))
    for topic in topics:
        create_topic(bootstrap, topic, 2)
    with observing(bootstrap, settle_seconds=0.2, events_topic=f"events-{unique}") as watched:
        url = ("--url", f"http://127.0.0.1:{watched.role.port}")
        with living(bootstrap, watched, topics, CLUSTERED.assignor) as life:
            found = whatif(life.group, *url)
            # Without an agent: the records of the offsets topic give the same result.
            direct = whatif(life.group, "--bootstrap-servers", bootstrap)
        assert (found["fidelity"]["moves"], found["fidelity"]["skew"]) == (1.0, 1.0)
        assert found["fidelity"]["checked"] >= found["rebalances"] >= 5
        assert direct["recorded"]["skew_mean"] == found["recorded"]["skew_mean"]
        advice = found["recommendation"]
        assert advice["strategy"] == "cooperative-sticky"

        with living(bootstrap, watched, topics, advice["strategy"]) as life:
            really = whatif(life.group, *url)
        promised = next(each for each in found["strategies"] if each["strategy"] == advice["strategy"])
        assert really["recorded"]["skew_mean"] < found["recorded"]["skew_mean"]
        assert really["recorded"]["skew_mean"] == pytest.approx(promised["skew_mean"], abs=0.05)
        assert really["recorded"]["moved"] == promised["moved"]
