"""The pipeline's report: one HTML file that opens without network, for people who want to see what rebalances cost.

- ``rows``: what it is drawn from, as plain values; ``periods`` and ``members``: what time is divided into, and what
  members are called.
- ``collect`` reads the rows from the tables: ``fleet_rows``, ``group_rows`` and ``detail_rows`` one kind each, with
  ``columns`` that all of them need. Nothing else here knows Spark.
- ``charts``: kinds of plots, made of ``drawing``'s marks and words; ``parts``: links between the parts of the page.
- ``fleet`` and ``group``: the two parts of the page; ``page`` puts them together with ``report.css`` and ``report.js``.

Names of groups, topics and clients come from outside: ``escaped`` of ``ui.words`` is their only way into the
page.
"""

from __future__ import annotations
