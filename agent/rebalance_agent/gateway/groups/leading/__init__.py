"""Decides for a group's leader when the leader sends its SyncGroup.

- ``leader_decision``: computes the leader's assignment with our assignor, in a thread and in bounded time.
"""
