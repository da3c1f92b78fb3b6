"""Strategies that assign single partitions: one module each, ``Roster -> Plan``, and helper modules.

- ``range``, ``roundrobin``: Kafka's own strategies.
- ``sticky``: best balance with the fewest moves; ``weighted``: in proportion to weights; ``shuffled_roundrobin``: with
  topics on several hosts (with ``hosts``, ``host_spread``).
- ``lag_aware``: balances loads (with ``weighted_bins``); ``rack_aware``: prefers near members.
- ``failover``: all partitions to one member; ``redundant``: each partition to several members (with ``copy_shares``).
"""
