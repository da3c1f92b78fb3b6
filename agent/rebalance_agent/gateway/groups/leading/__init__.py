"""What a group's leader decides, at its SyncGroup.

- ``leader_decision``: the leader's assignment by our assignor, in a thread and in bounded time.
- ``led_members``: the generation as the leader's frames contain it, for observers that may not read the offsets topic.
"""
