"""The tables of changes: a group's and a cluster's planted change with its deploy, and a slow member; nothing else."""

from __future__ import annotations

import datetime as dt
import random

import pytest

from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.group_event import event_id
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.changes.change_tables import (
    change_candidates,
    cluster_candidates,
    discovered,
    rebalances_of_groups,
    slow_candidates,
)
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.group_hours import group_hours
from rebalance_agent.pipeline.tables.members import members
from rebalance_agent.pipeline.tables.schemas import TABLES
from support.pipeline.event_rows import HOUR_MS, MONDAY_MS, events_frame, generation, member

DEPLOY_MS = MONDAY_MS + 300 * HOUR_MS
READ_AT = dt.datetime.fromtimestamp(MONDAY_MS / 1000 + 28 * 86_400, dt.UTC)
FIRST_AFTER = 36  # the first generation after the deploy began
ROLLOUT = event_id("rollout", "c", "g0", GroupType.CLASSIC, FIRST_AFTER, DEPLOY_MS)


def history():
    """Four weeks of six groups: in the first, stalls are three times as long after a deploy, and a member is slow."""
    for number in range(6):
        rng = random.Random(number)
        for at in range(80):
            at_ms = MONDAY_MS + int(at * 8.4 * HOUR_MS)
            seconds = rng.uniform(1.5, 2.5) * (3 if number == 0 and at_ms >= DEPLOY_MS else 1)
            stops = [rng.uniform(0.5, 0.7) * (5 if (number, index) == (0, 0) else 1) for index in range(5)]
            group_members = [member(f"m{index}", (index,), stop_seconds=stop) for index, stop in enumerate(stops)]
            yield generation(at_ms, at, group_members, group=f"g{number}", stall=(seconds, seconds), skew_ratio=1.0)
    # The clock of an observer is decades ahead.
    yield generation(MONDAY_MS + 20_000 * 24 * HOUR_MS, 99, [member("m0", (0,))], group="ahead", stall=(1.0, 1.0))
    yield RolloutEvent(
        ROLLOUT,
        *("c", "g0", DEPLOY_MS + 5 * HOUR_MS, Source.RECORDS, GroupType.CLASSIC),
        started_ms=DEPLOY_MS,
        first_generation=FIRST_AFTER,
        last_generation=FIRST_AFTER,
        closed=True,
        rebalances=1,
        members=5,
        members_replaced=5,
        stalled_partition_seconds=1.0,
        to_images=("app:2",),
    )


@pytest.fixture(scope="module")
def made(spark):
    """The rows of each table."""
    events = events_frame(spark, history(), ingested_at=READ_AT).cache()
    of_groups = generations(events).cache()
    rebalances = rebalances_of_groups(of_groups, group_hours(of_groups, events), events).cache()
    candidates = {
        "changes": change_candidates(rebalances),
        "cluster_changes": cluster_candidates(rebalances),
        "slow_members": slow_candidates(members(of_groups), events),
    }
    found = {name: discovered(frame.cache(), TABLES[name]).collect() for name, frame in candidates.items()}
    for frame in (*candidates.values(), rebalances, of_groups, events):
        frame.unpersist()
    return found


def test_the_change_of_a_group_has_its_deploy(made):
    [row] = made["changes"]
    assert (row["group"], row["signal"], row["recovery"]) == ("g0", "stall", False)
    assert row["ratio"] == pytest.approx(3, rel=0.1)
    assert row["rollout"] == ROLLOUT
    assert row["beside"] == {"image": "app:2"}
    assert "rose by a factor of" in row["sentence"]
    assert -3600 < (row["changed_at"] - row["rollout_at"]).total_seconds() <= 5 * 3600


def test_six_groups_of_which_one_changed_are_a_changed_cluster(made):
    assert {row["signal"] for row in made["cluster_changes"]} <= {"stall"}


def test_a_slow_member_is_compared_with_its_peers(made):
    [row] = made["slow_members"]
    assert (row["group"], row["member"], row["peers"]) == ("g0", "m0", 4)
    assert row["stop_seconds"] / row["peers_stop_seconds"] == pytest.approx(5, rel=0.2)
