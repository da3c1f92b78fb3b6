"""The agent's HTTP API: groups and their rebalances as JSON (``/api/v1/``), and members' events (``/v1/events``).

The API does not query brokers: every request is answered from memory.

- ``routes``: defines paths and parameters as data; ``query``: checks requests against the routes.
- ``shapes``: defines responses as dataclasses; ``view_shapes``: builds them from views of the tracker and events;
  package ``parts``: shapes that are parts of other shapes.
- ``json_schema``: derives schemas from dataclasses; ``openapi``: builds the OpenAPI document from routes and shapes.
- ``group_source``: defines the four queries about groups, as a Protocol.
- ``groups_api``: handles ``/api/v1/``; ``history``: keeps the last rebalances of each group; ``history_reports``: the
  members' reports about them.
- ``events_endpoint``: accepts members' events; ``events_settings``: bounds this endpoint; ``posted_events``: parses the
  events; ``posted_schema``: derives the JSON Schema of such an event.
"""
