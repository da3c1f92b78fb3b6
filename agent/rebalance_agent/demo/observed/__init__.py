"""Reads the agent's metrics and events and the coordinator's state, and compares them; it starts no process.

- ``watching``: reads ``/metrics`` and ``rebalance-events`` in threads; ``scrape``, ``journal``: their contents.
- ``coordinator_words``: reads the coordinator's view of the groups, without the agent's decoders.
- ``claims_check``: compares both with each other and with the timetable; ``summary``: the result of the demo.
"""
