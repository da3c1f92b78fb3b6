"""The connections of a listener: no client can make a thread wait for it, and memory is bounded.

- ``threads``: threads take turns to wait for all connections; each thread answers requests that are complete.
- ``open_connections``: accepts each ``connection`` and waits for all connections; ``steps``: reads from, sends to and
  ends one connection.
- ``outgoing``: keeps the unsent part of a response; ``places``: decides which connection is closed when there are too
  many.
"""
