"""The import path of Spark's Python workers."""

from pathlib import Path

from rebalance_agent.pipeline.spark.worker_daemon import archives_below


def test_only_archives_of_spark_are_left_out():
    own = ["", "/strategies.zip", "/spark/python", "/spark/a.zip.d"]
    spark = ["/spark/python/lib/pyspark.zip", "/spark/jars/spark-core_2.13-4.0.0.jar"]
    assert archives_below(Path("/spark"), [*own, *spark]) == set(spark)
