"""The agent's HTTP listeners.

- ``web``: /metrics, health, pages and the API, read-only, as a WSGI application.
- ``configured_listeners``: makes it, and the listener for members' events, from settings.
- ``listener_security``: TLS contexts and tokens of both, and of the webhook, from settings.
"""
