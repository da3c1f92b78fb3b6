"""Questions that are asked again and again, and topics that are read beside the offsets topic.

- ``list_groups``, ``describe_groups``, ``vanished``: groups; ``topic_metadata``: partition counts of topics.
- ``commits``, ``lag_and_rates``: committed offsets, and lag and rate of partitions.
- ``record_size_limit``: ``max.message.bytes`` of the offsets topic.
- ``member_events``, ``baseline_reader``: the topics ``rebalance-events`` and ``rebalance-baselines``.

Each puts observations into the inbox and concludes nothing.
"""
