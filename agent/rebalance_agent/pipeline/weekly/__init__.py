"""Compares one week of all groups with the week before, and writes a page, a short text and CSV.

- ``weeks``: computes ISO weeks. ``weekly_rows``: defines the values that are read from the tables.
- ``weekly_summary``: computes the content of the page from these rows; ``week_advice``: sums up recommended changes;
  ``week_settings``: defines the settings of users.
- ``weekly_page`` (with ``weekly_cards`` and ``weekly.css``), ``weekly_text``, ``weekly_csv``: write the three forms,
  with numbers as text from ``weekly_words``.
- ``queries``: reads the rows from the tables. No other module of the weekly page imports Spark.

Charts, style sheet and names come from ``pipeline.report``. The page computes no advice; it compares two weeks.
"""
