"""The schema of batches of records of the offsets topic, as Spark's workers get them."""

from __future__ import annotations

import pyarrow as pa

COLUMNS = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp_ms", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
    ]
)
