"""The agent's listeners, created from settings.

- ``web``: /metrics, health, pages and the API, read-only.
- ``configured_listeners``: the HTTP listeners for these and for members' events.
- ``listen_addresses``: the gateway's addresses, and the TLS of both its sides.
"""
