"""Decides whether a group can change to the consumer protocol (KIP-848), with what effects, and tracks progress. Pure.

- ``migrating_group``: reads the group's state from its records; ``broker_limits``: holds the brokers' settings.
- ``readiness``: decides, from the ``migration_findings`` of ``broker_checks``, ``member_checks``, ``client_checks`` and
  ``re2_patterns``.
- ``broker_what_if``: replays the recorded rebalances through the brokers' assignors.
- ``migration_steps``: decides whether the next member may be replaced. ``migration_report``: compares the group before
  and after the change.
"""
