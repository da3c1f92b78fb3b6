"""Compares Spark's decoding of events with the codec's."""

from __future__ import annotations

import re
from collections import Counter

from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructField, StructType

from rebalance_agent.pipeline.ingest.decoding import DECODED
from rebalance_agent.pipeline.ingest.event_rows import EventRow, event_row
from rebalance_agent.pipeline.ingest.native_decoding import native_rows, remaining_records, with_native_events

RECORDS = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("file", StringType()),
    ]
)


def compare(spark, lines):
    """Check that each line is decoded once, and by Spark only as the codec does.

    Return the numbers of events that Spark decoded and that only the codec did, and of each reason for rejection.
    """
    records = [(b"k", line, "t", 3, offset, None) for offset, line in enumerate(lines)]
    read = with_native_events(spark.createDataFrame(records, RECORDS)).persist()
    native, left = native_rows(read).collect(), remaining_records(read).select("offset").collect()
    read.unpersist()
    assert sorted(row["offset"] for row in [*native, *left]) == [*range(len(lines))]
    for row in native:
        found = row.asDict()
        expected = event_row(lines[row["offset"]])
        assert isinstance(expected, EventRow), (expected, lines[row["offset"]])
        decoded = {**dict.fromkeys(DECODED.names), **expected._asdict(), "topic": "t", "partition": 3}
        assert found | {"timestamp": None} == decoded | {"timestamp": None, "offset": row["offset"]}
        assert found["timestamp"].timestamp() == expected.timestamp.timestamp()
    others = [event_row(lines[row["offset"]]) for row in left]
    reasons = Counter(rule(other) for other in others if not isinstance(other, EventRow))
    return len(native), sum(isinstance(other, EventRow) for other in others), reasons


def rule(reason):
    """The code of a reason and its rule in words, without the values that broke it."""
    words = re.sub(r"'.*'|[0-9]{3,}", "#", reason.words)
    return f"{reason.code}: {words.rpartition(': ')[2]}"
