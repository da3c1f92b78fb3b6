import pytest

from rebalance_agent import __version__
from rebalance_agent.groupprotocol.tables import RECORDS
from rebalance_agent.http.health import Readiness
from rebalance_agent.metrics.export.agent_metrics import AgentMetrics
from rebalance_agent.metrics.metric import ExporterRole
from support.observer.scrapes import families, promtool_says, values


def observer(**changes):
    return AgentMetrics(ExporterRole.OBSERVER, Readiness(["kafka"]), **{"configured": True, **changes})


def found(metrics):
    return values(metrics.text())


def test_metrics_without_a_measurement_are_absent():
    shown = families(observer().text())
    assert "rebalance_agent_tail_lag_records" not in shown
    assert "rebalance_agent_last_poll_timestamp_seconds" not in shown


def test_counters_start_at_zero_with_every_label_value():
    numbers = found(observer())
    assert numbers["rebalance_agent_read_records_total",] == 0
    assert numbers["rebalance_agent_events_dropped_total", "member"] == 0
    assert numbers["rebalance_agent_decode_errors_total", "other"] == 0
    assert numbers["rebalance_agent_poll_duration_seconds_count", "list"] == 0


def test_readiness_follows_its_parts():
    readiness = Readiness(["kafka", "tail"])
    metrics = AgentMetrics(ExporterRole.OBSERVER, readiness, configured=True)
    readiness.ready("tail")
    numbers = found(metrics)
    assert numbers["rebalance_agent_ready", "kafka"] == 0
    assert numbers["rebalance_agent_ready", "tail"] == 1


def test_key_versions_are_a_closed_set():
    metrics = observer()
    for version in (2, 2, 3, 23, 9, 32_767, -1, None):
        metrics.decode_error(version)
    numbers = {key[1]: number for key, number in found(metrics).items() if key[0].endswith("_decode_errors_total")}
    assert {version: number for version, number in numbers.items() if number} == {"2": 2, "3": 1, "23": 1, "other": 4}
    assert numbers.keys() == {*map(str, RECORDS), "other"}


def test_a_failed_poll_leaves_the_time_of_the_last_good_one():
    metrics = observer()
    metrics.polled("list", 0.002, 1_700_000_000_000)
    metrics.polled("list", 30.0, None)
    numbers = found(metrics)
    assert numbers["rebalance_agent_last_poll_timestamp_seconds", "list"] == 1_700_000_000
    assert numbers["rebalance_agent_poll_duration_seconds_count", "list"] == 2
    assert ("rebalance_agent_last_poll_timestamp_seconds", "describe") not in numbers


def test_each_method_counts_in_its_own_metric():
    metrics = observer(folded=lambda: 3, shortened=lambda: 4, left_out=lambda: 5)
    metrics.read(10, 2_000)
    metrics.unknown_record("value_version", 2)
    metrics.unknown_tagged_fields(4)
    metrics.tail_lag(5)
    metrics.reconnected()
    metrics.events_received("member", 4)
    metrics.events_published("generation", "kafka")
    metrics.events_dropped("agent", 6)
    metrics.owned(25, changed=True)
    metrics.replayed(7)
    metrics.snapshot_written(1_700_000_000_000, 800)
    metrics.snapshot_problem("malformed")
    numbers = found(metrics)
    assert numbers["rebalance_agent_read_records_total",] == 10
    assert numbers["rebalance_agent_read_bytes_total",] == 2_000
    assert numbers["rebalance_agent_unknown_records_total", "value_version"] == 2
    assert numbers["rebalance_agent_unknown_tagged_fields_total",] == 4
    assert numbers["rebalance_agent_tail_lag_records",] == 5
    assert numbers["rebalance_agent_reconnects_total",] == 1
    assert numbers["rebalance_agent_events_received_total", "member"] == 4
    assert numbers["rebalance_agent_events_published_total", "generation", "kafka"] == 1
    assert numbers["rebalance_agent_events_dropped_total", "agent"] == 6
    assert numbers["rebalance_agent_series_folded",] == 3
    assert numbers["rebalance_agent_names_shortened",] == 4
    assert numbers["rebalance_agent_groups_left_out",] == 5
    assert numbers["rebalance_agent_owned_partitions",] == 25
    assert numbers["rebalance_agent_ownership_changes_total",] == 1
    assert numbers["rebalance_agent_replayed_records_total",] == 7
    assert numbers["rebalance_agent_last_snapshot_timestamp_seconds",] == 1_700_000_000
    assert numbers["rebalance_agent_snapshot_written_bytes_total",] == 800
    assert numbers["rebalance_agent_snapshot_problems_total", "malformed"] == 1


def test_the_age_of_the_last_snapshot_counts_from_when_the_first_is_due_and_never_grows_by_an_acknowledgement():
    metrics = observer()
    times = []
    for step, at_ms in (("due", 1_000), ("due", 2_000), ("written", 5_000), ("written", 4_000), ("due", 9_000)):
        metrics.snapshot_due(at_ms) if step == "due" else metrics.snapshot_written(at_ms, 1)
        times.append(found(metrics)["rebalance_agent_last_snapshot_timestamp_seconds",])
    assert times == [1, 1, 5, 5, 5]


def test_a_process_without_a_cluster_is_shown_as_not_configured():
    metrics = observer(configured=False)
    assert found(metrics)["rebalance_agent_configured",] == 0
    metrics.configured(True)
    assert found(metrics)["rebalance_agent_configured",] == 1


@pytest.mark.parametrize("role", [ExporterRole.OBSERVER, ExporterRole.SIDECAR])
def test_the_page_passes_promtool_and_has_no_creation_times(role):
    metrics = AgentMetrics(role, Readiness(["kafka"]), configured=True)
    text = metrics.text()
    assert promtool_says(text) == ""
    assert b"_created" not in text
    assert any(key[:2] == ("rebalance_agent_build_info", __version__) and key[3] == role for key in values(text))


def test_each_role_that_accepts_posts_counts_refused_ones_and_only_an_observer_reads_records():
    sidecar, watching = AgentMetrics(ExporterRole.SIDECAR, Readiness(), configured=True), observer()
    for role in (sidecar, watching):
        role.request_rejected(429)
        assert found(role)["rebalance_agent_requests_rejected_total", "429"] == 1
    assert "rebalance_agent_read_records_total" not in families(sidecar.text())
