"""The candidates of a group and of a cluster, as Spark's workers compute them from rows."""

from __future__ import annotations

import json
import random

import pandas as pd
import pytest

from rebalance_agent.pipeline.changes.candidates import (
    CHANGE_CANDIDATES,
    HOURS,
    SLOW_CANDIDATES,
    cluster_rows,
    group_rows,
    hour_rows,
    slow_rows,
)

HOUR_MS = 3_600_000
CHANGED_HOUR = 300


@pytest.fixture(scope="module")
def rebalances():
    """Rebalances of four weeks, twice as long from a deploy of another assignor on; the rows are shuffled."""
    rng = random.Random(1)
    rows = []
    for number in range(300):
        hour = number * 2.24
        after = hour >= CHANGED_HOUR
        rows.append(
            {
                "at_ms": int(hour * HOUR_MS), "generation": number, "trigger": "member_left",
                "stall_seconds": (4 if after else 2) * rng.uniform(0.8, 1.2), "skew_ratio": None,
                "protocol": "eager", "assignor": "sticky" if after else "range", "member_count": 4,
                "partition_count": 12, "rollout": "r" if CHANGED_HOUR <= hour < CHANGED_HOUR + 3 else None,
                "images": None, "first": 0, "last": 671,
            }
        )  # fmt: skip
    return pd.DataFrame(rng.sample(rows, len(rows)))


def test_a_change_has_its_columns_and_what_is_beside_it(rebalances):
    found = group_rows(("c", "g"), rebalances)
    assert list(found.columns) == CHANGE_CANDIDATES.names
    change, tests = found.to_dict("records")
    assert (change["signal"], change["rollout"], change["recovery"]) == ("stall", "r", False)
    assert abs(change["changed_ms"] // HOUR_MS - CHANGED_HOUR) <= 3
    assert change["ratio"] == pytest.approx(2, rel=0.1)
    assert json.loads(change["beside"]) == {"assignor": "range -> sticky"}
    assert change["sentence"].startswith("Stall per rebalance doubled on 13 Jan")
    assert (tests["tests"], pd.isna(tests["signal"])) == (4, True)  # stall, both parts of it, and frequency


def test_a_cluster_has_the_sums_of_its_groups(rebalances):
    hours = hour_rows(("c", "g"), rebalances)
    assert list(hours.columns) == HOURS.names
    twice = hours.assign(**{name: hours[name] * 2 for name in hours.columns[4:]})
    change, _ = cluster_rows(("c",), twice).to_dict("records")
    assert (change["signal"], change["level_before"]) == ("stall", pytest.approx(2, rel=0.1))


def test_slow_members_are_named_by_pod_or_instance_or_member_id():
    members = [
        {
            "at_ms": number, "generation": number, "event_id": f"e{number}", "client_id": "consumer",
            "member_id": f"consumer-{index}", "instance_id": None, "pod": "pod-0" if index == 0 else None,
            "stop_seconds": 9.0 if index == 0 else 1.0 + index / 100,
        }
        for number in range(20)
        for index in range(5)
    ]  # fmt: skip
    found = slow_rows(("c", "g"), pd.DataFrame(members))
    assert list(found.columns) == SLOW_CANDIDATES.names
    slow, tests = found.to_dict("records")
    assert (slow["member"], slow["rebalances"], slow["last_ms"], slow["peers"]) == ("pod-0", 20, 19, 4)
    assert tests["tests"] == 5
