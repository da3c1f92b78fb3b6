"""The agent's listeners, created from settings.

- ``web``: serves /metrics, health, pages and the read-only API.
- ``configured_listeners``: creates the HTTP listeners for ``web`` and for members' events.
- ``listen_addresses``: the gateway's addresses, and its TLS towards clients and brokers.
"""
