"""Reads the agent's API, metrics and events, and compares them with the coordinator's state; starts no process.

- ``observer_data``: reads the API and ``rebalance-events`` in threads, and ``/metrics`` (``gauges``) for the check.
- ``coordinator_state``: reads the coordinator's state of the groups, without the agent's decoders.
- ``differences``: compares the agent's data, the coordinator's state and the scenario; ``summary``: summarises the
  demo's result.
"""
