"""The gateway's transport: connections between consumers and brokers, frame by frame.

- ``frame_forwarder``: one direction of a connection between a client and a broker.
- ``tcp_connections``: a connection, plaintext or TLS; ``splice``: moves bytes in the kernel.
- ``broker_connections``: connects to brokers; ``broker_listeners``: a port for each; ``free_ports``: its sockets.
- ``request_head``, ``produce_acks``: read the first bytes of a frame; ``kafka_messages``, ``bounded``: whole frames.
- ``addresses``, ``api_versions``: rewrite the responses with brokers' addresses and API versions.
- ``sharing``: shares memory, processor time and lookups fairly among clients.
- ``close_reason``: why the gateway closes a connection.

It does not know about groups, which ``gateway.groups`` handles.
"""
