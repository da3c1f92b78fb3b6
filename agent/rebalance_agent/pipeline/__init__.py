"""The history of a fleet's rebalances in tables: what is normal, what it costs, what another assignor would have done.

Each stage is a pure function from DataFrames to a DataFrame whose schema stands in `schemas` and that ends in a
`select` of exactly it. What reads and writes (`tables`, `ingest`, `backfill`) is apart from it, and the session with
all of Spark's configuration is made in `session` only. The only room that imports PySpark.

Not here: decoding (`groupprotocol`), what rebalances are (`rebalances`), what-if and recommendations as such
(`advice`); of these Spark only runs many at a time.
"""

from __future__ import annotations
