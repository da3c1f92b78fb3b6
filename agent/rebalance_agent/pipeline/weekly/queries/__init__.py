"""The queries of the weekly page: Spark aggregates the tables to the rows of ``weekly_rows``.

- ``collect_week``: all rows of a week, with ``week_sums`` (stalls, rebalances and deploys by group; days),
  ``idle_time`` and ``week_members`` (flapping members, skew and waits near the rebalance timeout).
- ``two_weeks``: parts of a table's time in both weeks.

It is the only part of the weekly page that imports Spark. Not here: comparisons, pictures and HTML.
"""
