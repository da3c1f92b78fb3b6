"""The queries of the weekly page, in which Spark aggregates the tables to the rows of ``weekly_rows``.

- ``collect_week``: reads all rows of a week, with ``week_sums`` (stalls, rebalances and deploys by group; days),
  ``idle_time``, ``week_members`` (flapping members, skew and waits near the rebalance timeout) and ``week_changes``.
- ``two_weeks``: selects the parts of a table that belong to each of the two weeks.

This is the only part of the weekly page that imports Spark. Other modules make comparisons, pictures and HTML.
"""
