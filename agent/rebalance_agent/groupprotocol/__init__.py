"""Bytes to model values and back: the consumer protocol, assignors' user data, records of ``__consumer_offsets``.

- ``wire``: a small language for message tables, and the one reader and writer that follow them.
- ``tables``: the records of ``__consumer_offsets``, one table per kind. A new version changes its table.
- ``records``: a record as plain fields; ``classic_group``, ``epoch_facts``: as model values; ``record_json``: as JSON.
- ``consumer_protocol``: Subscription and Assignment; ``consumer_group_heartbeat``: the KIP-848 request.
- ``user_data``, ``standby_user_data``, ``sticky_fast_decoder``: what strategies write into subscriptions.
- ``coordinator_partition``: the partition of ``__consumer_offsets`` that holds a group.

Every length and count is bounded by the bytes that are left. The only error that bytes can cause is ``DecodeError``.
Requests and responses are not decoded here: Kafka clients do that.
"""
