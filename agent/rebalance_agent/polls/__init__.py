"""Repeated requests to the brokers, and readers of topics other than the offsets topic.

- ``list_groups``, ``describe_groups``: ListGroups and DescribeGroups; ``vanished``: groups deleted without a tombstone.
- ``describe_epochs``: ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe.
- ``topic_metadata``: partition counts and ids of topics.
- ``commits``: committed offsets; ``followed_partitions``: for which partitions; ``lag_and_rates``: their lag and
  produce rate.
- ``last_reads``: when the last records that departed members read were appended.
- ``record_size_limit``: ``max.message.bytes`` of the offsets topic.
- ``member_events``, ``baseline_reader``: the topics ``rebalance-events`` and ``rebalance-baselines``.

Each puts observations into the inbox and draws no conclusions. Records of groups are read in ``offsets_topic``.
"""
