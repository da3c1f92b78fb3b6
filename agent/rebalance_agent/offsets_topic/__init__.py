"""Reads ``__consumer_offsets``, the coordinator's own log, and passes its records to the tracker as observations.

- ``tail``: reads from the end at once and backfills beside it. ``backfill_reader``, ``backfill_merge``: the backfill.
- ``record_decoder``, ``group_records``: bytes to observations, and what is skipped; ``emit`` passes them on.
- ``replay``: which records are read again from a snapshot on.
- ``ownership``: which partitions of the topic this replica reads.
- ``snapshots``: state that is kept in a compacted topic, so that a restart continues where the last run ended.

Partitions are assigned to replicas, and snapshots written, by clients of ``confluent_kafka``.
"""
