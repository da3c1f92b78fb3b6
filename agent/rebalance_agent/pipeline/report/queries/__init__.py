"""The queries of the report, in which Spark aggregates the tables to the rows of ``report_rows``.

- ``collect``: reads all data of the report, with ``fleet_totals``, ``group_totals`` and ``detail_rows``.
- ``followed_advice``: reads what became of recommended changes.
- ``report_columns``: defines columns and values that these modules share.

This is the only part of the report that imports Spark. Other packages draw the pictures and write the HTML.
"""
