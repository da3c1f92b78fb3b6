"""The alert on a tenant over its budget, in a real Prometheus: it names the hostile group alone.

The group stays named for five minutes after the attack (`recent_names.NAMED_MS`), so the end is not awaited.
"""

from __future__ import annotations

import pytest
from bench.observer.attack import HOSTILE, attacked
from bench.observer.observing import observer
from bench.observer.start import compacted

from support.charts.live_alerts import LiveAlerts
from support.charts.live_prometheus import Prometheus, server
from support.charts.live_rules import short
from support.observer.observing import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.integration]

ALERT = "RebalanceAgentTenantOverBudget"
GROUPS = 50


def test_the_hostile_group_alone_fires_the_alert(tmp_path):
    if server() is None:
        pytest.skip("no prometheus: run by `make test-slow`")
    rules = [short(tmp_path, "1s", {ALERT: {"for": "3s"}})]
    with (
        Prometheus(server(), tmp_path, rules, scrape_seconds=1) as prometheus,
        compacted(GROUPS) as kafka,
        observer(kafka.bootstrap_servers) as watched,
    ):
        watched.wait(watched.ready, PATIENCE_S)
        prometheus.watch("observer", "kafka-rebalance-agent", f"127.0.0.1:{watched.port}")
        alerts = LiveAlerts(prometheus)
        with attacked(kafka.bootstrap_servers, ["generations"], seed=1):
            alerts.fires(ALERT, HOSTILE)
            assert alerts.now() == {(ALERT, HOSTILE)}
