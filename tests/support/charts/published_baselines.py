"""Baselines and savings as the pipeline publishes them, for two groups of the demo."""

from __future__ import annotations

import json

from confluent_kafka import Producer

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.model.baseline import (
    BASELINE_SCHEMA_VERSION,
    HOURS_OF_WEEK,
    AdviceSavings,
    BaselineScope,
    GroupBaseline,
    HourBaseline,
)
from rebalance_agent.model.event_json import value_to_json

TOPIC = "rebalance-baselines"
SAVINGS = {
    "orders-weighted": AdviceSavings(taken=1, measured=1, realised=1_260.0, predicted=1_030.0),
    "clicks-range": AdviceSavings(open=1, open_predicted=84.0),
}
HOURS = tuple(HourBaseline(hour, BaselineScope.WEEK, 120, 0.3, 2.5, 4.0) for hour in range(HOURS_OF_WEEK))


def publish_baselines_of_demo(bootstrap: str, now_ms: int) -> None:
    """Write one record for each group."""
    servers = {"bootstrap.servers": bootstrap}
    cluster = Cluster(servers)
    cluster_id = cluster.identify()[0]
    cluster.create_topic(TOPIC, 1, {"cleanup.policy": "compact"})
    producer = Producer(servers)
    for group, savings in SAVINGS.items():
        record = value_to_json(GroupBaseline(cluster_id, group, now_ms, HOURS, savings))
        value = json.dumps({"kind": GroupBaseline.KIND, "schema_version": BASELINE_SCHEMA_VERSION, **record})
        producer.produce(TOPIC, key=f"{cluster_id}:{group}", value=value)
    assert producer.flush(30) == 0
