"""An observer shows the baselines that the pipeline publishes: from stalls in Spark to a line of /metrics."""

from __future__ import annotations

import datetime as dt
import uuid

import pytest
from confluent_kafka import Producer
from pyspark.sql import functions as F  # noqa: N812

from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.model.baseline import baseline_from_json
from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.publishing.baseline_messages import baseline_messages
from rebalance_agent.pipeline.publishing.baselines_topic import publish_baselines
from rebalance_agent.pipeline.tables.baselines import BaselineSettings, baselines
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.schemas import TABLES
from support.observer.observing import create_topic, eventually, everything, members, observing
from support.pipeline.event_rows import MONDAY_MS, events_frame, generation, member

DAY_MS = 86_400_000


def computed(spark, cluster_id, group, now_ms, seconds):
    """Baselines of a group with these stalls, a day after the other."""
    one = [member("a", (0,))]
    stalls = [
        generation(now_ms - day * DAY_MS, 9 - day, one, cluster_id=cluster_id, group=group, stall=(each, 1.0))
        for day, each in enumerate(seconds)
    ]
    frame = generations(events_frame(spark, stalls))
    return baselines(frame, now_ms, BaselineSettings(samples=3, days=3))


def test_an_observer_shows_what_was_published_of_its_groups(spark, kafka, monkeypatch):
    monkeypatch.setattr("rebalance_agent.polls.baseline_reader.TOPIC_AGAIN_S", 0.2)
    servers, unique, now_ms = (
        {"bootstrap.servers": kafka.bootstrap_servers},
        uuid.uuid4().hex[:8],
        SystemClock().now_ms(),
    )
    group, topic, cluster_id = f"group-{unique}", f"baselines-{unique}", Cluster(servers).identify()[0]
    create_topic(kafka.bootstrap_servers, group, 1)
    producer = Producer(servers)
    measured = computed(spark, cluster_id, group, now_ms, (0.5, 2.5, 1.5)).cache()
    taken = {"advice_id": "1", "cluster_id": cluster_id, "group": group, "kind": "strategy", "state": "taken"}
    times = dict.fromkeys(("given_at", "last_given_at"), dt.datetime(2026, 6, 1, tzinfo=dt.UTC))
    row = {**taken, **times, "predicted": 5.0, "realised": 7.5}
    schema = TABLES["advice"].schema
    advice = spark.createDataFrame([tuple(row.get(name) for name in schema.names)], schema).cache()

    def publish(name, p50=None, clusters=()):
        """Publish the baselines and savings as those of a group, with another median if it is given."""
        median = F.col("stall_p50") if p50 is None else F.lit(p50)
        frame = measured.withColumns({"group": F.lit(name), "stall_p50": median})
        publish_baselines(
            baseline_messages(frame, advice.withColumn("group", F.lit(name)), now_ms), servers, topic, clusters
        )

    def put(key, value):
        producer.produce(topic, key=key, value=value)
        producer.flush(10)

    with (
        observing(kafka.bootstrap_servers, baselines_topic=topic) as watched,
        members(kafka.bootstrap_servers, group, group),
    ):

        def shown(percentile="p50"):
            name = "kafka_rebalance_stall_baseline_seconds"
            return watched.metric(name, consumergroup=group, percentile=percentile)

        eventually(lambda: watched.metric("kafka_rebalance_members", consumergroup=group))
        assert shown() is None
        publish(group)
        eventually(lambda: shown() == 1.5)
        assert shown("p99") is None
        saved = "kafka_rebalance_advice_weekly_saved_partition_seconds"
        assert watched.metric(saved, consumergroup=group, saving="measured") == 7.5
        publish("nobody-here")
        [record, _] = everything(kafka.bootstrap_servers, topic)
        assert record.key().decode() == f"{cluster_id}:{group}"
        assert len(baseline_from_json(record.value()).hours) == 168
        assert Cluster(servers).topic_setting(topic, "cleanup.policy") == "compact"
        put(record.key(), b"{}")
        eventually(lambda: watched.metric("rebalance_agent_baselines_malformed_total") == 1)
        assert shown() == 1.5
        publish(group, 4.0)
        eventually(lambda: shown() == 4.0)
        # The other cluster's pipeline may have baselines; in this cluster the group no longer has one.
        publish("nobody-here", 7.0, clusters=["another"])
        publish("nobody-here", 8.0, clusters=[cluster_id])
        eventually(lambda: shown() is None)
        publish("nobody-here", 9.0, clusters=[cluster_id])
        deleted = [each.key() for each in everything(kafka.bootstrap_servers, topic) if each.value() is None]
        assert deleted == [record.key()]
        assert watched.ready()
    measured.unpersist()
    advice.unpersist()


def test_what_cannot_be_published_is_reported_in_a_line(spark):
    frame = computed(spark, "c", "g", MONDAY_MS, (1.0, 1.0, 1.0))
    messages = baseline_messages(frame, spark.createDataFrame([], TABLES["advice"].schema), MONDAY_MS)
    with pytest.raises(PipelineError, match="baselines are not published: creating topic"):
        publish_baselines(messages, {"bootstrap.servers": "127.0.0.1:1", "log_level": "0"})
