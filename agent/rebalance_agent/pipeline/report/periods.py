"""Divides a report's time into periods that are few enough for the columns of a chart."""

from __future__ import annotations

import datetime as dt

__all__ = ["PERIODS_MAX", "periods"]

PERIODS_MAX = 100
"""Maximum number of periods; rounding to calendar boundaries can add one or two."""

_HOUR_S, _DAY_S = 3_600, 86_400
_LENGTHS_S = (_HOUR_S, 6 * _HOUR_S, _DAY_S, 7 * _DAY_S, 28 * _DAY_S)
_MONDAY_S = 4 * _DAY_S  # since the epoch, which was a Thursday


def periods(first: dt.datetime, last: dt.datetime) -> tuple[dt.datetime, dt.datetime, int]:
    """Return start, end and length (seconds) of the periods: hours, days or weeks at calendar boundaries (UTC).

    A wrong timestamp makes periods longer; the number of periods stays near `PERIODS_MAX`.
    """
    span_s = max(0.0, (last - first).total_seconds())
    length_min_s = -(-int(span_s) // PERIODS_MAX)
    whole_days_s = -(-length_min_s // _DAY_S) * _DAY_S
    length_s = next((length for length in _LENGTHS_S if length >= length_min_s), whole_days_s)
    begin_s = _MONDAY_S + (int(first.timestamp()) - _MONDAY_S) // length_s * length_s
    number = int(last.timestamp() - begin_s) // length_s + 1
    since = dt.datetime.fromtimestamp(begin_s, dt.UTC)
    return since, since + dt.timedelta(seconds=number * length_s), length_s
