"""The queries of the report. Spark aggregates the tables to the rows of ``report_rows``.

- ``collect``: reads all data of the report, with ``fleet_totals``, ``group_totals`` and ``detail_rows``.
- ``followed_advice``: reads recommended changes and their states.
- ``report_columns``: defines columns and values that these modules share.

No other part of the report imports Spark. Other modules draw the charts and write the HTML.
"""
