"""What the agent shows and takes in over HTTP: /metrics, health, members' events.

A scrape reads memory and never calls a broker. ``prometheus_client`` and ``cheroot`` are imported only here.
"""
