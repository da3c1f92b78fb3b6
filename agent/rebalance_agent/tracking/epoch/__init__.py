"""Groups whose coordinator computes the assignment: consumer, share and streams groups (KIP-848, 932, 1071).

- ``state``: the state machine of one group.
- ``epoch_records``: the latest record of each key of a group; ``recorded_group``: the members and the state that these
  records show.
- ``claimed_partitions``: bounds the partitions in these records. ``settled_epochs``: counts the members
  that reached each epoch.
- ``handovers``, ``backlog``: how each partition gets from one member to the next.
- ``member_evidence``: what the members' assignments and commits show.
- ``owner_changes``: what the records show about partitions that a removed member still holds.
- ``pending_members``: the members that a running rebalance waits for.
- ``surely_kept``: the partitions that members kept while records were missing.
- ``assignor_wait``: how long a rebalance waits for the assignor.
- ``facts``: sets or removes one record in a group's facts.
- ``buffered_records``: keeps the first records of a group until it is clear whether the group is new.
"""
