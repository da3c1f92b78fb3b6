"""The agent's HTTP listeners.

- ``web``: /metrics, health, pages and the API, read-only.
- ``events_listener``: the listener for members' events.
- ``listener_security``: TLS contexts and tokens of both, and of the webhook, from settings.
"""
