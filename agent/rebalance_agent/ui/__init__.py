"""Writes text and pictures for users: the agent's pages, and the parts that `watch`, `explain` and the report share.

- ``words``: writes durations, times, counts and names as text, for HTML and for terminals; ``task_words``: the tasks
  of streams groups; ``terminal``: determines what may be written to a stream.
- ``sentences``: describes groups and rebalances in sentences and table rows. ``svg``: draws marks and parts of charts,
  and contains the style sheet.
- ``page``: writes the HTML pages of an observer and of a sidecar.

This package only renders the values that it gets. It uses no brokers or files, and no lower package imports it.
"""
