"""Snapshots of the offsets topic's partitions, kept in a compacted topic, for restarts and takeovers.

- ``codec``: converts a snapshot to records; ``store``: writes these records; ``reader``: reads and checks them.
- ``snapshot_schedule``: decides when a snapshot is due; ``partition``: the records that one partition still has to
  write.
- ``coverage``: finds the offsets before which all conclusions have been published.
- ``other_writer``: detects whether another program writes to the same topic.
- ``rebase``: reads a partition again, only for its snapshot; ``snapshot_producer``: sends the records to Kafka.
"""
