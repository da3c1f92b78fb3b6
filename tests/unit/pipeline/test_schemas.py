"""Tables agree with their documentation; no Spark session is needed."""

from __future__ import annotations

import pytest

from rebalance_agent.pipeline.ingest.decoding import DECODED
from rebalance_agent.pipeline.ingest.event_rows import EventRow
from rebalance_agent.pipeline.spark.spark_jars import locked_jars
from rebalance_agent.pipeline.tables.schemas import EVENTS, TABLES


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_keys_are_columns_that_every_row_has(table):
    assert all(not table.schema[key].nullable for key in table.keys)
    assert set(table.partitioned_by) <= set(table.schema.names)
    assert len(set(table.schema.names)) == len(table.schema.names)


def test_decoded_fields_of_an_event_are_columns_of_its_table():
    own = set(EventRow._fields)
    assert own <= set(EVENTS.schema.names)
    assert set(EVENTS.schema.names) - own == {"origin", "ingested_at", "day", "topic", "partition", "offset"}
    assert own <= set(DECODED.names)


def test_the_locked_jars_are_the_kafka_source_and_delta_of_this_spark():
    found = {(jar.name, jar.version) for jar in locked_jars()}
    assert {("spark-sql-kafka-0-10_2.13", "4.0.0"), ("delta-spark_2.13", "4.0.0")} <= found
