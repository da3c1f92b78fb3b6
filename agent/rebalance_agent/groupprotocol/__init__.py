"""Decodes and encodes Kafka's bytes: the consumer protocol, assignors' user data, ``__consumer_offsets`` records.

- ``wire``: a small schema language for messages, and the reader and writer that follow it.
- ``tables``: the records of ``__consumer_offsets``, one table per kind. A new record version changes its table.
- ``records``: decodes a record to plain fields. ``group_fact``: decodes it to a fact about its group.
  ``classic_group``, ``epoch_facts``: convert these facts to model values. ``record_json``: converts a record to JSON.
- ``consumer_protocol``: decodes and encodes subscriptions and assignments.
- ``requests``: the few requests and responses that this package reads or writes; Kafka clients handle all others.
- ``commit_key``: reads the keys and offsets of offset commits without a decoder.
- ``user_data``, ``standby_user_data``, ``sticky_fast_decoder``: the user data of strategies; ``streams_user_data``: the
  user data of Kafka Streams.
- ``coordinator_partition``: computes the partition of ``__consumer_offsets`` that holds a group.

Every length and count is bounded by the bytes that are left. The only error that bytes can cause is ``DecodeError``.
"""
