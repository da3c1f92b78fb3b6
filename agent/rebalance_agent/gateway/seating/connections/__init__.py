"""Uses clients' connections to send requests to coordinators, and detects that clients have disconnected.

- ``client_connection``: the interface of a client's connection, besides changing its frames.
- ``group_connections``: the connections on which requests can be sent to a group's coordinator.
- ``lock_requests``: requests for locks; ``broker_apis``: finds out whether a broker supports a request.
- ``coordinator_requests``, ``epoch_requests``: the gateway's own requests, for classic and for KIP-848 groups;
  ``topic_watch``: checks for new partitions on behalf of leaders that would not notice them.
- ``open_clients``: which clients' connections are open; ``disconnect_watch``: clients that disconnect while a request
  waits.
"""
