"""What all connections of a gateway share, so that no client takes it from the others.

- ``fair_turns``: the processor time of the event loop; ``frame_memory``: the memory for frames that are read whole.
- ``address_lookup``: the IP addresses of brokers' names; ``broker_places``: new connections to a broker.
"""
