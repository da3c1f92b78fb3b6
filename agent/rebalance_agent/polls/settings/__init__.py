"""Reads facts from the brokers now and then that rarely change: settings and topologies.

- ``record_size_limit``: ``max.message.bytes`` of the offsets topic.
- ``dead_letter_queues``: the dead letter queues of share groups.
- ``topology_poll``: the topologies of streams groups.
- ``read_schedule``: decides which groups the last two read next.
"""
