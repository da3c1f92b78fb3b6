"""Uses clients' connections to send requests to coordinators, and detects that clients have disconnected.

- ``client_connection``: the interface of a client's connection, except for changing the client's frames.
- ``group_connections``: the connections that lead to a group's coordinator.
- ``lock_requests``: sends requests for locks; ``broker_apis``: finds out whether a broker supports some APIs.
- ``coordinator_requests``, ``epoch_requests``: send the gateway's own requests for classic and for KIP-848 groups;
  ``topic_watch``: checks for new partitions on behalf of leaders that would not detect them.
- ``open_clients``: tracks which clients have open connections; ``disconnect_watch``: detects clients that disconnect
  while a request waits.
"""
