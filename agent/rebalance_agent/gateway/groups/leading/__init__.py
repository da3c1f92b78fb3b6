"""The decisions of a group's leader, at its SyncGroup.

- ``leader_decision``: the leader's assignment by our assignor, in a thread and in bounded time.
"""
