"""The connections of a listener: no client can make a thread wait for it, and memory is bounded.

- ``threads``: threads take turns to wait for all connections; each answers requests that are complete.
- ``open_connections``: accepts each ``connection`` and waits for all; ``steps``: reads, sends and ends one.
- ``outgoing``: what is left of an answer; ``places``: which connection is closed when there are too many.
"""
