"""The agent's HTTP API: groups and their rebalances as JSON (``/api/v1/``), and members' events (``/v1/events``).

It does not query brokers: every request is answered from memory.

- ``routes``: the paths and parameters as data; ``query``: checks requests against the routes.
- ``shapes``: the responses as dataclasses; ``view_shapes``: builds them from the tracker's views and published events.
- ``json_schema``: derives schemas from dataclasses; ``openapi``: builds the OpenAPI document from routes and shapes.
- ``group_source``: the four queries about groups, as a Protocol.
- ``groups_api``: the handler of ``/api/v1/``; ``history``: keeps the last rebalances of each group.
- ``events_endpoint``, ``events_settings``, ``posted_events``: the application that accepts members' events;
  ``posted_schema``: the JSON Schema of such an event.
"""
