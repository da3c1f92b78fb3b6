"""The queries of the report: Spark aggregates the tables to the rows of ``report_rows``.

- ``collect``: the report's data, with ``fleet_totals``, ``group_totals`` and ``detail_rows``.
- ``report_columns``: columns and values that they share.

It is the only part of the report that imports Spark. Not here: pictures and HTML.
"""
