"""Uses clients' connections to send requests to coordinators, and to notice that clients are gone.

- ``client_connection``: what may be done with a client's connection, besides changing its frames.
- ``group_connections``: the connections by which a group's coordinator can be asked.
- ``lock_requests``: requests for locks; ``broker_apis``: whether a broker knows a request.
- ``coordinator_requests``, ``epoch_requests``: the gateway's own requests, to classic groups and to those of KIP-848;
  ``topic_watch``: those for new partitions, for leaders that would not notice them.
- ``open_clients``: which clients' connections are open; ``disconnect_watch``: clients that are gone while a request
  waits.
"""
