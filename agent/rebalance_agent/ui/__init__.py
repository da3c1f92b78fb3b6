"""Text and pictures for people: the agent's pages, and what `watch`, `explain` and the report share with them.

- ``words``: durations, moments, counts and names as text, for HTML and for terminals; ``terminal``: what a stream may
  be sent.
- ``sentences``: groups and rebalances in sentences and table rows. ``svg``: marks, charts' pieces, the style sheet.
- ``page``: the HTML pages of an observer and of a sidecar.

No package below imports it, and it asks neither brokers nor files: it renders values that it is given.
"""
