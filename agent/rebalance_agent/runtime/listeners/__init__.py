"""The agent's HTTP listeners: /metrics, health, pages and API (read-only), and the listener for members' events."""
