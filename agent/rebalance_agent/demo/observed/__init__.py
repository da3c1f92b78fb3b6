"""Reads the agent's API, metrics and events and the coordinator's state, and compares them; it starts no process.

- ``watching``: reads the API and ``rebalance-events`` in threads, and ``/metrics`` (``gauges``) for the check.
- ``coordinator_words``: reads the coordinator's view of the groups, without the agent's decoders.
- ``claims_check``: compares both with each other and with the timetable; ``summary``: the result of the demo.
"""
