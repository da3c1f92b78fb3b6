"""Shares resources fairly among all connections of a gateway, so that no client can use up a resource.

- ``fair_turns``: shares the event loop's processor time; ``frame_memory``: limits the memory for frames that are read
  whole.
- ``address_lookup``: finds the IP addresses of brokers' names; ``broker_places``: limits new connections to a broker.
"""
