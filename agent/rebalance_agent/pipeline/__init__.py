"""The history of a fleet's rebalances in Delta tables, on Spark: baselines, cost, what-if, report.

- ``ingest``: events and old log records into the table ``events``.
- ``tables``: schemas, and one pure function from DataFrames to a DataFrame for each table.
- ``spark``: the session, its Java and its jars. ``report``: one HTML file.
- ``stages``: the stages after ingest, in order.

The only package that imports ``pyspark``, ``delta``, ``pandas``, ``pyarrow`` and ``py4j``. Rebalances are worked out in
``tracking``, what-if and recommendations in ``advice``; Spark runs many of them at a time.
"""
