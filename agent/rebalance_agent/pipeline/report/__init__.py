"""The pipeline's report: one self-contained HTML file that shows what rebalances cost.

- ``report_rows``: defines the report's data as plain values; ``periods``: divides the report's time into periods;
  ``member_names``: chooses the names under which members are shown.
- ``queries``: reads these rows from the tables. No other module of the report imports Spark.
- ``charts``: draws each kind of chart as SVG; ``all_groups``: writes the table of all groups and the groups' names.
- ``fleet_part``, ``group_part``: draw the charts of all groups and of single groups; ``report_page``: writes the whole
  page, with ``report.css`` and ``report.js``; ``self_contained``: frames pages that load no other files.

The report computes no what-if or advice; it shows the tables. Names of groups, topics and clients are untrusted input:
they enter the page only through ``escaped`` of ``ui.words``.
"""
