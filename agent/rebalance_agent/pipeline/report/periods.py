"""Which stretches of time a report tells apart: enough to see how things went, and few enough to be drawn."""

from __future__ import annotations

import datetime as dt

__all__ = ["PERIODS_MAX", "periods"]

PERIODS_MAX = 100
"""Columns of the pictures over time, but for the one or two by which rounding exceeds it."""

_HOUR_S, _DAY_S = 3_600, 86_400
_LENGTHS_S = (_HOUR_S, 6 * _HOUR_S, _DAY_S, 7 * _DAY_S, 28 * _DAY_S)
_MONDAY_S = 4 * _DAY_S  # since the epoch, which was a Thursday


def periods(first: dt.datetime, last: dt.datetime) -> tuple[dt.datetime, dt.datetime, int]:
    """From when, until when, and how many seconds each: hours, days or weeks that begin as those of calendars do (UTC).

    However wrong a clock was, there are about `PERIODS_MAX` at most.
    """
    span_s = max(0.0, (last - first).total_seconds())
    least_s = -(-int(span_s) // PERIODS_MAX)
    longer_s = -(-least_s // _DAY_S) * _DAY_S
    length_s = next((each for each in _LENGTHS_S if each >= least_s), longer_s)
    begin_s = _MONDAY_S + (int(first.timestamp()) - _MONDAY_S) // length_s * length_s
    number = int(last.timestamp() - begin_s) // length_s + 1
    since = dt.datetime.fromtimestamp(begin_s, dt.UTC)
    return since, since + dt.timedelta(seconds=number * length_s), length_s
