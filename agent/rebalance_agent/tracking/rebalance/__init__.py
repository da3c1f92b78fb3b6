"""One rebalance of any group type, from its first sign to its published event.

- ``episodes``: a group's open, closed, settled and revisable episodes.
- ``settle``: turns a closed episode into events. It uses ``stall``, ``triggers``, ``phases``, ``quality`` and more.
- ``last_seen``: when members were last heard of; ``counters``: the group's totals.
- ``diff_cache``: the difference of two generations, computed once.
"""
