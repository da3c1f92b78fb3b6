"""The agent's HTTP API: groups and their rebalances as JSON (``/api/v1/``), and members' events (``/v1/events``).

It does not query brokers: every request is answered from memory.

- ``routes``, ``query``: paths and parameters as data, and requests checked against them.
- ``shapes``: the answers as dataclasses; ``view_shapes``: built from the tracker's views and the published events.
- ``json_schema``: schemas of dataclasses; ``openapi``: the OpenAPI document, written from routes and shapes.
- ``group_source``: the four queries about groups, as a Protocol.
- ``groups_api``: the handler of ``/api/v1/``; ``history``: the last rebalances of each group.
- ``events_endpoint``, ``events_settings``, ``posted_events``: the application that accepts members' events;
  ``posted_schema``: the JSON Schema of such an event.
"""
