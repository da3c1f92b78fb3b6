import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.baseline import (
    BASELINE_BYTES_MAX,
    HOURS_OF_WEEK,
    NAME_BYTES_MAX,
    AdviceSavings,
    BaselineScope,
    GroupBaseline,
    HourBaseline,
    baseline_from_json,
    hour_of_week,
)

HOUR = {"hour_of_week": 12, "scope": "hour_of_day", "samples": 40, "stall_p50_seconds": 0.5}
WHOLE = {
    "kind": "baseline",
    "schema_version": 1,
    "cluster_id": "c",
    "group": "g",
    "computed_ms": 1_000,
    "hours": [HOUR, {**HOUR, "hour_of_week": 13, "stall_p95_seconds": 2, "stall_p99_seconds": 2.5}],
}


def read(**changes):
    return baseline_from_json(json.dumps({**WHOLE, **changes}).encode())


def test_a_baseline_is_read_with_known_percentiles():
    scope = BaselineScope.HOUR_OF_DAY
    hours = (HourBaseline(12, scope, 40, 0.5), HourBaseline(13, scope, 40, 0.5, 2.0, 2.5))
    assert read() == GroupBaseline("c", "g", 1_000, hours)
    assert read(hours=[], later_field=1) == GroupBaseline("c", "g", 1_000, ())


def test_savings_are_read_and_summed():
    reported = {"taken": 2, "measured": 1, "realised": -4, "predicted": 9.5, "open": 3, "open_predicted": 70.0}
    savings = read(savings=reported).savings
    assert savings == AdviceSavings(2, 1, -4.0, 9.5, 3, 70.0)
    assert read(savings=None).savings is None
    assert AdviceSavings.total([savings, AdviceSavings(1, 1, 10.0, 0.5)]) == AdviceSavings(3, 2, 6.0, 10.0, 3, 70.0)
    assert AdviceSavings.total([]) == AdviceSavings()


@given(st.integers(0, 4_000_000_000_000))
def test_the_hour_of_the_week_is_the_calendars(epoch_ms):
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=epoch_ms)
    assert hour_of_week(epoch_ms) == at.weekday() * 24 + at.hour


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kind": "generation"}, "kind"),
        ({"kind": ["baseline"]}, "kind"),
        ({"schema_version": 2}, "schema_version"),
        ({"schema_version": True}, "schema_version"),
        ({"group": None}, "group"),
        ({"computed_ms": "now"}, "computed_ms"),
        ({"hours": [{**HOUR, "hour_of_week": 168}]}, "hours"),
        ({"hours": [{**HOUR, "hour_of_week": -1}]}, "hours"),
        ({"hours": [HOUR, HOUR]}, "hours"),
        ({"hours": [HOUR] * 200}, "hours"),
        ({"hours": [{**HOUR, "samples": 0}]}, "hours[0]"),
        ({"hours": [{**HOUR, "stall_p50_seconds": -0.1}]}, "hours[0]"),
        ({"hours": [{**HOUR, "stall_p99_seconds": 0.4}]}, "hours[0]"),
        ({"hours": [{**HOUR, "stall_p50_seconds": float("nan")}]}, "hours[0].stall_p50_seconds"),
        ({"hours": [{**HOUR, "scope": "month"}]}, "hours[0].scope"),
        ({"savings": {"taken": 1, "measured": 2}}, "savings"),
        ({"savings": {"open": -1}}, "savings"),
        ({"savings": {"realised": -1e16}}, "savings"),
        ({"savings": {"open_predicted": 1e16}}, "savings"),
        ({"savings": {"predicted": float("inf")}}, "savings.predicted"),
    ],
)
def test_wrong_fields_of_a_baseline_are_named(changes, field):
    with pytest.raises(InvalidInputError) as caught:
        read(**changes)
    assert caught.value.field == field


@pytest.mark.parametrize("value", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 1_000, b" " * (BASELINE_BYTES_MAX + 1)])
def test_other_objects_are_refused(value):
    with pytest.raises(InvalidInputError):
        baseline_from_json(value)


def test_a_full_week_of_the_group_with_the_longest_name_is_read():
    seconds = {f"stall_p{percent}_seconds": 12345.123456789 + percent / 10**12 for percent in (50, 95, 99)}
    hours = [{**HOUR, "hour_of_week": hour, "samples": 10**8, **seconds} for hour in range(HOURS_OF_WEEK)]
    data = {**WHOLE, "cluster_id": "c" * 22, "group": "g" * NAME_BYTES_MAX, "hours": hours}
    assert len(baseline_from_json(json.dumps(data, separators=(",", ":")).encode()).hours) == HOURS_OF_WEEK


@pytest.mark.parametrize("name", ["g" * (NAME_BYTES_MAX + 1), "\N{GRINNING FACE}" * (NAME_BYTES_MAX // 4 + 1)])
def test_a_name_that_kafka_does_not_allow_is_refused(name):
    with pytest.raises(InvalidInputError) as caught:
        baseline_from_json(json.dumps({**WHOLE, "group": name}, ensure_ascii=False).encode())
    assert caught.value.field == "group"
