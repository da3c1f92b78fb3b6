"""One rebalance of a group of any type, from its generations to its events.

- ``episodes``: a group's open, closed, settled and revisable episodes.
- ``settle``: turns a closed episode into events. It uses ``moments`` (each a ``moment``), ``stall``,
  ``slowness``, ``triggers``, ``phases`` and ``quality``.
- ``open_stall``: a stall that continues after its episode. ``counters``: the group's totals.
- ``group_history``: the episodes, totals, reports and more of a group, which outlive a change of its type.
- ``diff_cache``: the difference of two generations, computed once. ``topic_names``: ids of topics replaced by names.

Not here: how records become generations (``classic``, ``epoch``), and the evidence beside records (``evidence``).
"""
