"""Reads the heartbeats of groups whose coordinator computes assignments, and changes no frame.

- ``heartbeat_handler``: what the handlers have in common: a member's epochs, and its changes of partitions.
- ``consumer_heartbeats``: consumer groups (KIP-848), whose partitions have topic ids.
- ``share_heartbeats``: share groups (KIP-932), whose members give up partitions without a report.
- ``streams_heartbeats``: streams groups (KIP-1071), whose partitions are tasks; ``streams_topologies``: the partitions
  that tasks read.
"""
