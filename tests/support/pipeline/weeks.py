"""A week of a few consumer groups, as the weekly page's queries return it."""

from __future__ import annotations

import datetime as dt

from rebalance_agent.pipeline.changes.group_signals import Signal
from rebalance_agent.pipeline.recommendations.advice_state import AdviceState
from rebalance_agent.pipeline.recommendations.advice_words import AdviceRow
from rebalance_agent.pipeline.recommendations.given_advice import AdviceKind
from rebalance_agent.pipeline.weekly.weekly_rows import (
    FlapperRow,
    GroupWeeks,
    SkewRow,
    TimeoutRow,
    WeekChange,
    WeeklyRows,
    WeekTotals,
)
from rebalance_agent.pipeline.weekly.weeks import Week

WEEK = Week(dt.datetime(2026, 6, 8, tzinfo=dt.UTC))
WEEK_S = 7 * 86_400


def totals(stalled=0.0, partitions=10, rebalances=0, deploys=0, deployed=0.0, idle=0.0):
    """A week of a group with that many partitions, three members and two rebalances in each deploy."""
    return WeekTotals(
        float(stalled), float(partitions * WEEK_S), rebalances, deploys, 2 * deploys, float(deployed), 3 * 168.0, idle
    )


def group(name, this, before=None, *, cluster_id="c", deploy_at=None):
    return GroupWeeks(cluster_id, name, this, before or WeekTotals(), deploy_at)


def advised(name, state, strategy="cooperative-sticky", predicted=None, realised=None, **more):
    """A recommended change, given ten weeks before the week; intervals are 10 % around their values."""
    columns = {}
    for column, value in (("predicted", predicted), ("realised", realised)):
        ends = (None, None) if value is None else (value - 0.1 * abs(value), value + 0.1 * abs(value))
        columns |= {column: value, f"{column}_low": ends[0], f"{column}_high": ends[1]}
    kind = AdviceKind.STRATEGY if strategy else AdviceKind.STATIC_MEMBERSHIP
    return AdviceRow("c", name, kind, strategy, AdviceState(state), WEEK.start - dt.timedelta(70), **columns, **more)


def sample(**changes):
    """The rows of a week in which much happened; ``changes`` replace fields."""
    deploy_at = WEEK.start + dt.timedelta(days=1, hours=10, minutes=31)
    groups = (
        group(
            "checkout-notifier",
            totals(20_000, 40, 90, 3, 9_000.0),
            totals(4_000, 40, 40, 1, 2_500),
            deploy_at=deploy_at,
        ),
        group("checkout-enricher", totals(1_000, 24, 20, 2, 500.0, 168.0), totals(1_500, 24, 25, 2, 600, 100.0)),
        group("billing.sink", totals(300, 12, 9, 1, 300.0), totals(9_300, 12, 60, 4, 9_000)),
        group("audit-sink", totals(0.0, 6, 1, 0, 0.0, 12.5), totals(0, 6)),
        group("payments", totals(70, 6, 3)),
    )
    days = (4_000.0, 1_500.0, 9_300.0, 0.0, 0.0, 0.0, 0.0, 300.0, 20_000.0, 1_000.0, 0.0, 70.0, 0.0, 0.0)
    usual = {
        "week": WEEK,
        "first": WEEK.before.start - dt.timedelta(days=30),
        "end": WEEK.end,
        "groups": groups,
        "days": days,
        "flappers": (
            FlapperRow("c", "checkout-notifier", "notifier-2", 9, 0),
            FlapperRow("c", "billing.sink", "sink-1", 4, 0),
            FlapperRow("c", "billing.sink", "sink-0", 4, 0),
            FlapperRow("c", "checkout-notifier", "notifier-1", 3, 2),
            FlapperRow("c", "payments", "payments-1", 0, 5),
        ),
        "skews": (SkewRow("c", "audit-sink", 2.4, 31),),
        "timeouts": (TimeoutRow("c", "checkout-notifier", 250.0, 300.0, 2, "notifier-0"),),
        "advice": (
            advised("checkout-notifier", "open", predicted=12_000.0),
            advised("checkout-enricher", "open", None),
            advised("payments", "ignored", predicted=35.0),
            advised(
                "billing.sink", "taken", predicted=8_000.0, realised=8_500.0, taken_at=WEEK.start - dt.timedelta(20)
            ),
            advised("audit-sink", "taken", None, 90.0, 4.0, taken_at=WEEK.start - dt.timedelta(15), missed=True),
        ),
        "changes": (
            WeekChange("c", "checkout-notifier", Signal.FREQUENCY, deploy_at.replace(hour=11, minute=0), 4.3),
            WeekChange("c", "checkout-notifier", Signal.STALL, deploy_at.replace(hour=10, minute=0), 1.6),
            WeekChange("c", "audit-sink", Signal.STALL, WEEK.start, 0.5),
        ),
        "made_at": WEEK.end + dt.timedelta(hours=7),
    }
    return WeeklyRows(**{**usual, **changes})
