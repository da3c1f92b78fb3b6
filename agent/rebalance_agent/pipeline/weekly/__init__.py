"""The weekly page: one week of all groups against the week before, as a page, as a short text, and as CSV.

- ``weeks``: ISO weeks. ``weekly_rows``: what is read from the tables, as plain values.
- ``weekly_summary``: what the page shows, computed from these rows; ``week_settings``: what users can set for it.
- ``weekly_page`` (with ``weekly_cards`` and ``weekly.css``), ``weekly_text``, ``weekly_csv``: its forms, with
  the numbers of ``weekly_words``.
- ``queries``: reads the rows from the tables. Only this package of the weekly page imports Spark.

Charts, style sheet and names are those of ``pipeline.report``. The page computes no advice; it compares two weeks.
"""
