"""The pipeline's report: one HTML file that opens without network, for people who want to see what rebalances cost.

- ``rows``: what it is drawn from, as plain values; ``collect`` reads them from the tables, and alone knows Spark;
  ``periods`` and ``members``: what time is divided into, and what members are called.
- ``words``: texts and numbers for people, escaped; ``canvas``: SVG marks, scales and axes; ``charts``: kinds of plots.
- ``fleet`` and ``group``: the two parts of the page; ``page`` puts them together with ``report.css`` and ``report.js``.

Names of groups, topics and clients come from outside: they get into the page through `words.escaped` only.
"""

from __future__ import annotations
