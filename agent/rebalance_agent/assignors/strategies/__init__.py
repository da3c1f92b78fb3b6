"""Strategies that assign partitions one by one: one module for each function ``Roster -> Plan``, and helper modules.

- ``range``, ``roundrobin``: Kafka's own strategies.
- ``sticky``: keeps the best balance with the fewest moves; ``weighted``: assigns in proportion to weights;
  ``shuffled_roundrobin``: puts topics on several hosts (with ``hosts`` and ``host_spread``).
- ``lag_aware``: balances loads (with ``weighted_bins``); ``rack_aware``: prefers near members.
- ``failover``: assigns all partitions of a topic to one member; ``redundant``: assigns each partition to several
  members (with ``copy_shares``).
"""
