"""Classic groups: one state machine per group, which processes ``GroupMetadata`` records, ListGroups polls and reports.

- ``state``: the state machine of one group.
- ``start_time``: the time when a rebalance began, at which the coordinator writes no record.
- ``in_progress``: a rebalance that has begun and has no record yet.
- ``aborted``: generations that the coordinator began and never completed.
- ``duplicates``: recognises records that were read before.
- ``led_group``: detects when a group that is known from its leaders' frames has changed without a frame.
- ``protocol``: infers whether the group rebalances eagerly or cooperatively.
- ``streams_tasks``: the tasks of a Kafka Streams group.
"""
