"""Decides whether a group can change to the consumer protocol (KIP-848), with what effects, and tracks progress. Pure.

- ``migrating_group``: the group, from its records; ``broker_limits``: the brokers' settings.
- ``readiness``: the answer, from ``broker_checks``, ``member_checks`` and ``re2_patterns`` as ``migration_findings``.
- ``broker_what_if``: the recorded rebalances as the brokers would have assigned.
- ``migration_steps``: whether the next member may be replaced; ``migration_report``: before and after.
"""
