"""The queries of the weekly page. Spark aggregates the tables to the rows of ``weekly_rows``.

- ``collect_week``: reads all rows of a week with ``week_sums`` (stalls, rebalances and deploys by group; stalls by
  day), ``idle_time``, ``week_members`` (flapping members, skew and waits near the rebalance timeout) and
  ``week_changes``.
- ``two_weeks``: selects the parts of a table that belong to each of the two weeks.

No other part of the weekly page imports Spark. Other modules compare the weeks, draw the charts and write the HTML.
"""
