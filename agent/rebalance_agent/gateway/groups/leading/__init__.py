"""The decisions of a group's leader, made when the leader sends its SyncGroup.

- ``leader_decision``: computes the leader's assignment with our assignor, in a thread and in bounded time.
"""
