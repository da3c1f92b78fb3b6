"""Resources that all connections of a gateway share fairly, so that no client can use them up.

- ``fair_turns``: the processor time of the event loop; ``frame_memory``: the memory for frames that are read whole.
- ``address_lookup``: the IP addresses of brokers' names; ``broker_places``: limits new connections to a broker.
"""
