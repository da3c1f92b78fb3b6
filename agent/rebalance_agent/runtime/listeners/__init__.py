"""The agent's listeners, made from settings.

- ``web``: /metrics, health, pages and the API, read-only.
- ``configured_listeners``: the HTTP listener of these, and that for members' events.
- ``listen_addresses``: the gateway's addresses, and the TLS of both its sides.
"""
