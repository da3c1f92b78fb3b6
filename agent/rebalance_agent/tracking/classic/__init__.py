"""Classic groups: one state machine fed by ``GroupMetadata`` records, ListGroups polls and members' reports.

- ``state``: the state machine of one group.
- ``start_time``: when a rebalance began; the coordinator writes no record at that time.
- ``in_progress``: a rebalance that has begun and has no record yet.
- ``aborted``: generations that the coordinator began and never completed.
- ``duplicates``: recognises records that were read before.
- ``led_group``: notices that a group known from its leaders' frames has changed without a frame.
- ``streams_tasks``: the tasks of a Kafka Streams group.
"""
