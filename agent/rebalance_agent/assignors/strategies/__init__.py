"""Strategies that assign single partitions: one module each, ``Roster -> Plan``, beside modules that only they need.

- ``range``, ``roundrobin``: Kafka's own, and roundrobin over shuffled members.
- ``sticky``: best balance with the fewest moves; ``weighted``: in proportion to weights.
- ``lag_aware``: balances loads (with ``weighted_bins``); ``rack_aware``: prefers near members (with ``locality``,
  ``labels``, ``even_deal``).
- ``failover``: all partitions to one member; ``redundant``: each partition to several members (with ``copy_shares``).
- ``member_classes``: members with equal subscriptions.
"""
