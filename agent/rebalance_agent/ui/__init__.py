"""Text and pictures for people: the agent's pages, and what `watch`, `explain` and the report share with them.

- ``words``: durations, moments, counts and names as text, for HTML and for terminals; ``terminal``: what may be written
  to a stream.
- ``sentences``: groups and rebalances in sentences and table rows. ``svg``: marks, charts' pieces, the style sheet.
- ``page``: the HTML pages of an observer and of a sidecar.

It only renders the values that it gets: it uses no brokers or files, and no lower package imports it.
"""
