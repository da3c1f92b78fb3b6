"""The Spark pipeline: stores rebalance history in Delta tables and computes baselines, cost, what-if and reports.

- ``ingest``: writes published events and old log records into the table ``events``.
- ``tables``: defines the schemas, and for each table one pure function that computes the table from DataFrames.
- ``tried_releases``: which release has tried to read a rejected value.
- ``table_schema``: defines a table by its columns, key and partitions. ``percentiles``: computes percentiles as Spark
  columns.
- ``study_reports``: reads from events what leaders and members reported about the generations that `whatif` replays.
- ``increments``: finds the days of groups that changed since the last run. ``write_conflicts``: repeats writes that
  conflict.
- ``changes``: finds changes in groups, and slow members, with statistics that need no Spark, and builds their tables.
- ``recommendations``: derives recommendations, and finds out whether groups followed them and what that saved.
- ``publishing``: writes baselines and savings to the Kafka topic that observers read.
- ``spark``: provides the Spark session, its Java and its jars.
- ``report``: reads the tables and renders one HTML file. ``weekly``: compares two weeks.
- ``stages``: runs the stages after ingest, in order.
- ``errors``: defines `PipelineError`.

No other package imports ``pyspark``, ``delta``, ``pandas``, ``pyarrow`` or ``py4j``. The pipeline contains no
rebalance logic of its own: ``tracking`` detects rebalances, and ``advice`` computes what-if and recommendations.
"""
