"""Requests and responses for which kafka-python has no suitable class (KIP-848, 932, 1071, 714, 1319).

- ``consumer_group_heartbeat``, ``share_group_heartbeat``, ``streams_group_heartbeat``: how a member joins, continues
  and leaves, if the coordinator assigns.
- ``consumer_group_describe``, ``share_group_describe``, ``streams_group_describe``: the members of groups whose
  coordinator assigns; ``describe_api``: the common parts of these three modules.
- ``flexible_api``: the frames of one API, in each of its versions.
- ``client_telemetry``: the metrics that a client is asked to push, and its pushes.
- ``txn_offset_commit``: commits within a transaction, by topic ids.
- ``share_group_offsets``: the positions and lags of share groups.
- ``share_requests``, ``share_responses``: the acknowledgements, acquired records and brokers in ShareFetch and
  ShareAcknowledge.
"""
