"""The rows of the tables on quiet fleets in ``docs/alert-replays.md``."""

from __future__ import annotations

from statistics import median

from support.replay.fleet.kinds import KINDS
from support.replay.fleet.planted import PLANTED
from support.replay.fleet.quiet import kind_of
from support.replay.tables import fault_row, receivers

__all__ = ["fleet_rows"]


def fleet_rows(fleet, spans, sent):
    """First the size of the fleet and its planted faults, then a row for each alert that fired in quiet groups.

    ``sent``: notifications by group. In a row, times are seconds, ``groups`` are by kind, and ``sent`` is the number of
    groups in which the alert was sent.
    """
    planted = [_planted_row(each, spans, sent) for each in fleet.planted]
    size = {"days": fleet.days, "groups": fleet.groups, "kinds": list(KINDS), "scrape": fleet.scrape}
    fired = sorted({span.alert for span in quiet(spans)})
    return [size | {"planted": planted}, *(_row(alert, spans, sent) for alert in fired)]


def quiet(spans):
    """The spans of groups without a planted fault, and of the agent."""
    planted = {each.group for each in PLANTED}
    return [span for span in spans if span["consumergroup"] not in planted]


def _row(alert, spans, sent):
    fired = [span for span in quiet(spans) if span.alert == alert]
    groups = {span["consumergroup"] for span in fired}
    lasted = [span.ended - span.began for span in fired]
    return {
        "alert": alert,
        "groups": {kind: count for kind in KINDS if (count := sum(kind_of(group) == kind for group in groups))},
        "sent": sum(any(alert in each for each in receivers(sent[group]).values()) for group in groups),
        "times": len(fired),
        "median": median(lasted),
        "longest": max(lasted),
    }


def _planted_row(planted, spans, sent):
    row = fault_row(planted.fault, planted.spans(spans), sent[planted.group])
    return {key: row[key] for key in ("alert", "after", "lasts", "sent")}
