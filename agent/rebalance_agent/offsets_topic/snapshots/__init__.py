"""Snapshots of the offsets topic's partitions, kept in a compacted topic, for restarts and takeovers.

- ``codec``: a snapshot as records; ``store``: writes them; ``reader``: reads them back and checks them.
- ``snapshot_schedule``: decides when a snapshot is due; ``partition``: the records that one partition still has to
  write.
- ``coverage``: the offsets before which all conclusions have been published.
- ``other_writer``: whether another program writes to the same topic.
- ``rebase``: reads a partition again, only for its snapshot; ``snapshot_producer``: the producer.
"""
