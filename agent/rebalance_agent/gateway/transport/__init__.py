"""The gateway's transport: connections between consumers and brokers, frame by frame.

- ``links``, ``splice``: both ends of a connection, plaintext or TLS; ``broker_connections`` opens them.
- ``connection_relay``: one client's connection joined to one broker's; ``frame_forwarder``: one direction of it.
- ``broker_listeners``, ``free_ports``: a port for every broker.
- ``request_head``, ``produce_acks``, ``kafka_messages``, ``bounded``: what is read of a frame.
- ``addresses``, ``api_versions``: the responses that the transport rewrites.
- ``frame_memory``: the byte budget of all connections; ``close_reason``: why the gateway closes a connection.

It knows no group: ``gateway.groups`` does.
"""
