"""Reads the agent's API, metrics and events and the coordinator's state, and compares them; starts no process.

- ``observer_data``: reads the API and ``rebalance-events`` in threads, and ``/metrics`` (``gauges``) for the check.
- ``coordinator_state``: reads the coordinator's state of the groups, without the agent's decoders.
- ``differences``: compares these two sources with each other and with the scenario; ``summary``: summarises the result
  of the demo.
"""
