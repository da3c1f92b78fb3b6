"""Creates the agent's listeners from settings.

- ``web``: serves /metrics, health, pages and the read-only API.
- ``configured_listeners``: creates the HTTP listeners for ``web`` and for members' events.
- ``free_address``: tests whether an address can be listened on.
- ``listen_addresses``: reads the gateway's addresses, and its TLS settings for clients and brokers.
"""
