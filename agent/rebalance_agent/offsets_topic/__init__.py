"""Reads ``__consumer_offsets``, the coordinator's own log, and passes its records to the tracker as observations.

- ``tail``: reads new records from the end, and old records in parallel through ``backfill_reader``; ``backfill_merge``
  prevents old records from overwriting new ones.
- ``group_records``: selects the records of shown groups and turns them into observations; ``record_decoder`` decodes
  records and counts malformed ones; ``emit`` puts the observations into the inbox.
- ``replay``: recognises records that are read again after a snapshot; ``gaps``: finds missing offsets; ``progress``:
  finds partitions that the client has stopped reading.
- ``ownership``: decides which partitions of the topic this replica reads.
- ``work_share``: limits what a record may claim, and how much work the records of one group may cause.
- ``snapshots``: keeps state in a compacted topic, so that a restart continues where the last run ended.

Ownership and snapshots use clients of ``confluent_kafka``. Only ``tracking`` draws conclusions about groups.
"""
