"""The Spark pipeline: stores rebalance history in Delta tables and computes baselines, cost, what-if and reports.

- ``ingest``: writes published events and old log records into the table ``events``.
- ``tables``: the schemas, and one pure function from DataFrames to a DataFrame for each table.
- ``table_schema``: what a table is: its columns, key and partitions. ``percentiles``: percentiles as Spark columns.
- ``increments``: which days of groups changed since the last run. ``write_conflicts``: repeats writes that conflict.
- ``changes``: what changed in groups, and slow members; statistics without Spark, and their tables.
- ``spark``: the Spark session, the Java it runs on, and its jars.
- ``report``: reads the tables and renders one HTML file. ``weekly``: compares two weeks of them.
- ``stages``: runs the stages after ingest, in order.
- ``errors``: `PipelineError`.

It is the only package that imports ``pyspark``, ``delta``, ``pandas``, ``pyarrow`` and ``py4j``. It contains no
rebalance logic of its own: ``tracking`` detects rebalances, ``advice`` computes what-if and recommendations.
"""
