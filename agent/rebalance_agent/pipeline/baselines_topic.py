"""Baselines to the compacted topic from which observers take them."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from rebalance_agent.collectors.cluster import Cluster
from rebalance_agent.errors import ClusterError
from rebalance_agent.pipeline.baselines import baseline_messages
from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.kafka_options import source_options

__all__ = ["BASELINES_TOPIC", "publish_baselines"]

BASELINES_TOPIC = "rebalance-baselines"
"""Where observers look for them by default."""

_PARTITIONS = 1
"""Of a topic that we create: it has one record of some kilobytes for each group, written once a day."""


def publish_baselines(baselines: DataFrame, properties: Mapping[str, str], topic: str = BASELINES_TOPIC) -> None:
    """Write a record for each group of table ``baselines``; the topic is made if it is missing.

    ``properties`` are librdkafka's. A group that has no baseline any more keeps its last record: observers do not show
    what has not been computed anew for five weeks.

    Raises:
        PipelineError: the topic cannot be made or written to.
    """
    try:
        Cluster(properties).create_topic(topic, _PARTITIONS, {"cleanup.policy": "compact"})
        writer = baseline_messages(baselines).write.format("kafka").options(**source_options(properties))
        writer.option("topic", topic).option("kafka.compression.type", "zstd").option("kafka.acks", "all").save()
    except ClusterError as error:
        raise PipelineError(f"baselines are not published: {error}") from None
    except PySparkException as error:
        text = " ".join(str(error).split())[:500]
        raise PipelineError(f"baselines are not published to {topic}: {text}") from error
