"""Groups whose coordinator assigns: consumer (KIP-848), share (KIP-932) and streams groups (KIP-1071).

- ``state``: the state machine of one group.
- ``epoch_records``: the latest records of a group, taken together; ``recorded_group``: its members and state by them.
- ``handovers``, ``backlog``: how each partition gets from one member to the next.
- ``member_evidence``: what the members' assignments and commits show.
- ``owner_changes``: what the records show of partitions that a removed member still holds.
- ``surely_kept``: what members kept while records were missing.
- ``assignor_wait``: how long a rebalance waits for the assignor.
- ``facts``: updates of single facts.
- ``buffered_records``: the first records of a group, until it is clear whether the group is new.
"""
