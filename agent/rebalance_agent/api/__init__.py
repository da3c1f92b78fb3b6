"""The agent's HTTP API: groups and their rebalances as JSON (``/api/v1/``), and members' events (``/v1/events``).

- ``routes``, ``query``, ``shapes``, ``openapi``: the API as data; ``view_shapes``: from views and events to it.
- ``group_source``: the four questions about groups, as a Protocol.
- ``groups_api``: the WSGI application of ``/api/v1/``; ``history``: the rebalances that it remembers.
- ``events_endpoint``, ``events_settings``, ``posted_events``: the WSGI application that takes members' events.

It asks no broker: a request reads memory.
"""
