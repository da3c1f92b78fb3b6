"""Bytes to model values and back: the consumer protocol, assignors' user data, records of ``__consumer_offsets``.

- ``wire``: a small schema language for messages, and the reader and writer that follow it.
- ``tables``: the records of ``__consumer_offsets``, one table per kind. A new record version changes its table.
- ``records``: a record as plain fields; ``group_fact``: a record as a fact about its group; ``classic_group``,
  ``epoch_facts``: these facts as model values; ``record_json``: a record as JSON.
- ``consumer_protocol``: subscription and assignment.
- ``requests``: the few requests and responses that are read or written here; Kafka clients do all others.
- ``commit_key``: keys and offsets of offset commits, read without a decoder.
- ``user_data``, ``standby_user_data``, ``sticky_fast_decoder``: the user data of strategies; ``streams_user_data``:
  that of Kafka Streams.
- ``coordinator_partition``: the partition of ``__consumer_offsets`` that holds a group.

Every length and count is bounded by the bytes that are left. The only error that bytes can cause is ``DecodeError``.
"""
