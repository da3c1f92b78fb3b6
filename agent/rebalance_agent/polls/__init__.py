"""Repeated requests to the brokers, and readers of the topics beside the offsets topic.

- ``list_groups``, ``describe_groups``: ListGroups and DescribeGroups; ``vanished``: groups deleted without a tombstone.
- ``topic_metadata``: partition counts and ids of topics.
- ``commits``: committed offsets; ``followed_partitions``: whose; ``lag_and_rates``: lag and produce rate of partitions.
- ``last_reads``: when the records were appended that departed members read last.
- ``record_size_limit``: ``max.message.bytes`` of the offsets topic.
- ``member_events``, ``baseline_reader``: the topics ``rebalance-events`` and ``rebalance-baselines``.

Each puts observations into the inbox and concludes nothing. Records of groups are read in ``offsets_topic``.
"""
