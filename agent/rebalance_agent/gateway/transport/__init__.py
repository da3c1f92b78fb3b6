"""The gateway's transport: forwards frames between clients and brokers.

- ``frame_forwarder``: forwards frames in one direction between a client and a broker.
- ``tcp_connections``: reads and writes plaintext and TLS connections; ``splice``: moves bytes inside the kernel.
- ``broker_connections``: connects to brokers; ``broker_listeners``: listens on a port for each broker; ``free_ports``:
  opens the sockets of these ports.
- ``request_head``, ``produce_acks``: read the first bytes of a frame; ``kafka_messages``, ``bounded``: decode whole
  frames.
- ``addresses``, ``api_versions``: rewrite brokers' addresses and API versions in responses.
- ``sharing``: shares memory, processor time and name lookups fairly among clients.
- ``close_reason``: the reasons why the gateway closes a connection.

This package has no code for groups: ``gateway.groups`` handles them.
"""
