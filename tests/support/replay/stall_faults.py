"""Planted faults of stalls: one for each alert of ``alerts/stalls.py``."""

from __future__ import annotations

from support.replay.fault import FROM, of_group, shown
from support.replay.script import Script

__all__ = ["STALL_FAULTS"]

PATIENT = {"session_timeout_ms": 600_000, "rebalance_timeout_ms": 1_800_000}


def _led_slowly(alert, seconds, due, *more):
    """The members report; the leader leaves, and the next one takes ``seconds`` in assign()."""
    script = Script("orders", "a", reports=True, **PATIENT)
    script.join(30, "b", assign_ms=seconds * 1000)
    script.join(60, "c")
    script.leave(FROM, "a")
    what = f"the leader's assign() takes {seconds} s, and all 12 partitions are stalled"
    return of_group(alert, what, due, FROM + seconds, script, *more)


def _again_and_again(alert, every, times, due, what, *, offset=0, commits=False, **spec):
    """A member leaves or joins every ``every`` seconds; each time the others stall."""
    script = Script("orders", "a", "b", **PATIENT, **spec)
    for number in range(times):
        at = FROM + offset + every * number
        script.leave(at, "c") if number % 2 else script.join(at, "c")
    return of_group(alert, what, due, FROM + offset + every * times, script, commits=commits)


def _callback():
    script = Script("orders", "a", reports=True)
    script.join(30, "b", revoked_ms=8_000)
    script.join(FROM, "c")
    what = "a revoked callback takes 8 s"
    return of_group("KafkaGroupRevokeCallbackSlow", what, FROM + 8, FROM + 12, script)


_BASELINE = shown("kafka_rebalance_stall_baseline_seconds", 1, 1, FROM, consumergroup="orders", percentile="p95")

STALL_FAULTS = (
    _led_slowly("KafkaGroupStalled", 45, FROM + 30),
    _led_slowly("KafkaGroupStalledLong", 120, FROM + 90),
    _led_slowly("KafkaGroupStallBudgetBurnFast", 360, FROM + 260),
    _again_and_again(
        "KafkaGroupStallBudgetBurnMedium",
        300,
        60,
        FROM + 34 * 300,
        "the members report that they are stalled for 18 s every 5 min",
        reports=True,
        assign_ms=18_000,
    ),
    _again_and_again(
        "KafkaGroupStallBudgetBurnSlow",
        1800,
        96,
        FROM + 69 * 1800 + 20,
        "the members report that they are stalled for 18 s every 30 min, for two days",
        reports=True,
        assign_ms=18_000,
    ),
    _again_and_again(
        "KafkaGroupStallBudgetBurnPossible",
        300,
        60,
        FROM + 44 * 300 + 65,
        "a member rejoins 18 s late every 5 min, and no member reports how long it was stalled",
        offset=43,
        commits=True,
        processing_ms=60_000,
    ),
    _led_slowly("KafkaGroupStallAboveBaseline", 8, FROM + 13, _BASELINE),
    _callback(),
)
