"""Publishes baselines and the savings of recommended changes to the compacted topic that observers read."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.errors import ClusterError
from rebalance_agent.pipeline.errors import PipelineError, one_line
from rebalance_agent.pipeline.spark.kafka_options import OWN_GROUPS, source_options

__all__ = ["BASELINES_TOPIC", "publish_baselines"]

BASELINES_TOPIC = "rebalance-baselines"
"""Name of the topic that observers read by default."""

_PARTITIONS = 1
"""Partitions of a topic that this module creates. Once a day, it gets a record of some kilobytes for each group."""


def publish_baselines(
    messages: DataFrame, properties: Mapping[str, str], topic: str = BASELINES_TOPIC, clusters: Collection[str] = ()
) -> None:
    """Write the records ``messages`` (see `baseline_messages`); create the topic if it is missing.

    ``properties``: librdkafka's client properties. ``clusters``: ids of the clusters whose groups ``messages`` has
    completely. A group of these clusters that has a record in the topic but not in ``messages`` gets a tombstone.

    Raises:
        PipelineError: the topic cannot be created, written or (with ``clusters``) read.
    """
    try:
        Cluster(properties).create_topic(topic, _PARTITIONS, {"cleanup.policy": "compact"})
        records = messages
        if clusters:
            published = _published_keys(messages.sparkSession, properties, topic).where(
                F.col("cluster_id").isin(*clusters)
            )
            deleted = published.join(records, "key", "left_anti").select(
                "key", F.lit(None).cast("string").alias("value")
            )
            records = records.unionByName(deleted)
        writer = records.write.format("kafka").options(**source_options(properties))
        writer.option("topic", topic).option("kafka.compression.type", "zstd").option("kafka.acks", "all").save()
    except ClusterError as error:
        raise PipelineError(f"baselines are not published: {error}") from None
    except PySparkException as error:
        raise PipelineError(f"baselines are not published to {topic}: {one_line(error)}") from error


def _published_keys(spark: SparkSession, properties: Mapping[str, str], topic: str) -> DataFrame:
    """Return the ``key`` of each baseline in the topic and the ``cluster_id`` of its newest value."""
    reader = spark.read.format("kafka").options(**source_options(properties)).option("subscribe", topic)
    newest = F.max_by("value", F.struct("partition", "offset")).cast("string")
    return (
        reader.option("groupIdPrefix", OWN_GROUPS)
        .load()
        .groupBy(F.col("key").cast("string").alias("key"))
        .agg(F.get_json_object(newest, "$.cluster_id").alias("cluster_id"))
    )
