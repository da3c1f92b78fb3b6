"""Handles the connections of a listener: no client can make a thread wait, and memory is bounded.

- ``threads``: runs threads that take turns to wait for all connections, and that answer complete requests.
- ``open_connections``: accepts each ``connection`` and waits for all connections; ``steps``: reads from, sends to and
  ends one connection.
- ``outgoing``: keeps the unsent part of a response; ``places``: chooses the connection to close when there are too
  many.
"""
