"""Reads settings from the brokers now and then, since they rarely change.

- ``record_size_limit``: ``max.message.bytes`` of the offsets topic.
- ``dead_letter_queues``: the dead letter queues of share groups.
"""
