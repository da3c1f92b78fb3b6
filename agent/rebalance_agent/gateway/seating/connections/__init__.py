"""Uses clients' connections to send requests to coordinators, and to notice that clients are gone.

- ``client_connection``: the interface of a client's connection, besides changing its frames.
- ``group_connections``: the connections on which requests can be sent to a group's coordinator.
- ``lock_requests``: requests for locks; ``broker_apis``: whether a broker knows a request.
- ``coordinator_requests``, ``epoch_requests``: the gateway's own requests, to classic groups and to those of KIP-848;
  ``topic_watch``: checks for new partitions on behalf of leaders that would not notice them.
- ``open_clients``: which clients' connections are open; ``disconnect_watch``: clients that disconnect while a request
  waits.
"""
