"""Sends repeated requests to the brokers, and reads topics other than the offsets topic.

- ``list_groups``, ``describe_groups``: send ListGroups and DescribeGroups. ``vanished``: finds groups that were deleted
  without a tombstone.
- ``describe_epochs``: sends ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe.
- ``topic_metadata``: polls the partition counts and ids of topics.
- ``commits``: follows committed offsets; ``followed_partitions``: selects the partitions for this; ``lag_and_rates``:
  measures lag and produce rate. ``share_lag``: measures the lag of share groups; ``group_lags``: joins both lags.
- package ``settings``: reads settings of the offsets topic and of share groups.
- ``last_reads``: queries when the last records that departed members read were appended.
- ``member_events``, ``baseline_reader``: read the topics ``rebalance-events`` and ``rebalance-baselines``.

The modules put observations into the inbox and draw no conclusions. ``offsets_topic`` reads the records of groups.
"""
