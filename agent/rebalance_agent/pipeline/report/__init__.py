"""The pipeline's report: one self-contained HTML file that shows what rebalances cost.

- ``report_rows``: the report's data as plain values; ``periods``: how its time is divided; ``member_names``: the names
  that members are shown by.
- ``queries``: reads these rows from the tables. Only this package of the report imports Spark.
- ``charts``: the kinds of charts, as SVG; ``all_groups``: the table of all groups, and their names.
- ``fleet_part``, ``group_part``: the charts of all groups and of single groups; ``report_page``: the whole page, with
  ``report.css`` and ``report.js``; ``self_contained``: frames pages that load nothing.

The report computes no what-if or advice; it shows the tables. Names of groups, topics and clients are untrusted input:
they enter the page only through ``escaped`` of ``ui.words``.
"""
