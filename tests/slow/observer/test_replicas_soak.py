"""Three replicas that are killed or stopped in turn, repeatedly, while all groups rebalance."""

from __future__ import annotations

import random
import uuid
from contextlib import ExitStack

import pytest

from rebalance_agent.testing import EmbeddedKafka
from support.observer.observing import create_topic, eventually
from support.observer.replicas import generations, kill, published, replica, unrest

pytestmark = pytest.mark.slow

ROUNDS = 12
PATIENCE_S = 180


@pytest.mark.timeout(3_600)
def test_after_any_death_every_generation_is_reported_once():
    chance = random.Random(7)  # the same order of deaths in every run
    unique = uuid.uuid4().hex[:8]
    groups = [f"group-{number}" for number in range(8)]
    shared = {"replicas_group": f"rebalance-agent-{unique}", "groups_allow": "group-.*"}
    with EmbeddedKafka() as kafka, ExitStack() as stack:
        bootstrap = kafka.bootstrap_servers
        create_topic(bootstrap, "t", 4)
        running = [stack.enter_context(replica(bootstrap, **shared)) for _ in range(3)]
        with unrest(bootstrap, "t", groups):
            for _ in range(ROUNDS):
                eventually(lambda: all(map(_has_part, running)) and _all_owned(running), PATIENCE_S)
                before = generations(bootstrap, groups)
                victim = running.pop(chance.randrange(len(running)))
                if chance.random() < 2 / 3:
                    kill(victim)
                else:
                    victim.process.terminate()
                if chance.random() < 1 / 2:
                    eventually(lambda: _all_owned(running), PATIENCE_S)
                running.append(stack.enter_context(replica(bootstrap, **shared)))
                eventually(lambda: _grown(before, generations(bootstrap, groups)), PATIENCE_S)  # noqa: B023
        compared = []

        def agree():
            reported, _ = published(bootstrap, "rebalance-events", groups)
            compared[:] = [generations(bootstrap, groups), reported]
            return compared[0] == reported

        eventually(agree, PATIENCE_S, waiting_for=compared)
        assert min(map(len, compared[0].values())) > ROUNDS


def _owned(watched):
    return watched.metric("rebalance_agent_owned_partitions") or 0


def _has_part(watched):
    # Before the first snapshot, a killed replica's knowledge would be lost: so the test waits for that snapshot.
    return _owned(watched) and watched.metric("rebalance_agent_last_snapshot_timestamp_seconds")


def _all_owned(running):
    return sum(map(_owned, running)) == 4 and all(each.ready() for each in running)


def _grown(before, after):
    return all(len(after[group]) > len(numbers) for group, numbers in before.items())
