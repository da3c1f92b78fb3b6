"""One rebalance of a group of any type, from its generations to its events.

- ``episodes``: keeps a group's open, closed, settled and revisable episodes.
- ``settle``: turns a closed episode into events. It uses ``moments`` (with ``moment``), ``stall``, ``slowness``,
  ``triggers``, ``phases`` and ``quality``.
- ``open_stall``: a stall that continues after its episode. ``counters``: the group's totals.
- ``group_history``: the episodes, totals and reports of a group, which are kept when its type changes.
- ``diff_cache``: the difference of two generations, computed once. ``topic_names``: replaces topic ids by names.

Other packages contain the code that turns records into generations (``classic``, ``epoch``), and the evidence besides
records (``evidence``).
"""
