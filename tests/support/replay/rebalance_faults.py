"""Planted faults of rebalances: one for each alert of ``alerts/rebalances.py``."""

from __future__ import annotations

from support.replay.agent_faults import healthy
from support.replay.fault import FROM, of_group, of_series, shown
from support.replay.script import Script

__all__ = ["REBALANCE_FAULTS"]

PODS = tuple(f"pod-{number}" for number in range(6))


def _stuck():
    script = Script("orders", "a", "b", "c", rebalance_timeout_ms=60_000)
    script.hang(FROM, FROM + 600)
    what = "a rebalance runs for 10 min; the members' rebalance timeout is 1 min"
    return of_group("KafkaGroupRebalanceStuck", what, FROM + 90, FROM + 600, script, list_period_ms=1000)


def _slow():
    script = Script("orders", "a", "b", "c")
    script.hang(FROM, FROM + 240)
    what = "a rebalance runs for 4 min"
    return of_group("KafkaGroupRebalanceSlow", what, FROM + 60, FROM + 240, script, list_period_ms=1000)


def _failed():
    script = Script("orders", "a", "b", assign_ms=10_000)
    for number in range(4):
        script.join(FROM + 8 * number, f"late-{number}")
    what = "members join while the leader computes the assignment, and 3 generations are aborted"
    return of_group("KafkaGroupRebalanceFailed", what, FROM + 34, FROM + 34, script)


def _storm():
    script = Script("orders", "a", "b", "c", session_timeout_ms=10_000)
    for number in range(6):
        script.crash(FROM + 60 * number, "ab"[number % 2])
        script.join(FROM + 60 * number + 20, "ab"[number % 2])
    what = "2 of 3 members crash in turn, one crash each minute, which causes 12 rebalances"
    return of_group("KafkaGroupRebalanceStorm", what, FROM + 195, FROM + 320, script)


def _noop():
    script = Script("orders", "a", "b", "c", topics={"t": 1})
    for number in range(3):
        script.restart(FROM + 420 * number, "c", away=210)
    what = "a member without partitions restarts 3 times within 20 min"
    # Until the second of six is no longer in the window of half an hour.
    return of_group("KafkaGroupRebalanceNoop", what, FROM + 840, FROM + 210 + 1800, script)


def _rollout():
    script = Script("orders", *PODS)
    for number, pod in enumerate(PODS):
        script.restart(FROM + 60 * number, pod, away=20)
    what = "a deploy restarts 6 members, one each minute"
    return of_group("KafkaGroupRolloutInProgress", what, FROM + 200, FROM + 320 + 900, script)


def _flapping():
    script = Script("orders", "a", "b", "c", "d")
    for number in range(3):
        script.restart(FROM + 240 * number, "b")
    what = "a member restarts 3 times within 10 min"
    return of_group("KafkaGroupMemberFlapping", what, FROM + 485, FROM + 485 + 900, script)


def _near_poll_limit():
    client = {"consumergroup": "orders", "client_id": "a", "host": "/10.0.0.2"}
    over = FROM + 240
    return of_series(
        "KafkaGroupMemberNearPollLimit",
        "a Java member behind a gateway does not call poll() for 4 min; its max.poll.interval.ms is 5 min",
        FROM + 151,
        over,
        healthy,
        shown("kafka_rebalance_member_client_last_poll_age_seconds", 1, lambda seconds: seconds, over, **client),
        shown("kafka_rebalance_member_client_poll_limit_seconds", 300, 300, over, **client),
    )


def _eager():
    script = Script("orders", "a", topics={"t": 40})
    for number in range(19):
        script.join(FROM, f"pod-{number}")
    script.leave(FROM + 4500, "pod-0")
    what = "a group with 20 members uses range, for 75 min"
    return of_group("KafkaGroupEagerLargeGroup", what, FROM, FROM + 4500, script)


REBALANCE_FAULTS = (
    _stuck(),
    _slow(),
    _failed(),
    _storm(),
    _noop(),
    _rollout(),
    _flapping(),
    _near_poll_limit(),
    _eager(),
)
