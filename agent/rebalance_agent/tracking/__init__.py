"""The tracker: one pure state machine per group. It turns observations into events and group views.

It does no I/O, starts no threads and reads no clock: time is an argument. Its packages and files:

- ``classic``: groups in which a member computes the assignment (``GroupMetadata`` records).
- ``epoch``: consumer, share and streams groups, whose coordinator computes the assignment (KIP-848, KIP-932, KIP-1071).
- ``described``: groups that are known only from descriptions, with or without epochs.
- ``members``: the members of a group as its view shows them, and the quality of their assignment.
- ``rebalance``: one rebalance of a group of any type: episodes, stall, triggers, phases, counters, settling.
- ``evidence``: reports, polls, commits and changes of coordinator, which show when members worked and stopped.
- ``patterns``: patterns that appear only over several rebalances: flapping, rollouts, replacements, skew by load.
- ``memory``: the memory that the states of all groups use, in bytes.
- ``lag``: the lag of groups, and moved partitions that are catching up. Only the polls use it.
- ``tracker`` is the entry point. ``observations`` lists its inputs, ``views`` its output.
- ``groups`` holds the state of every group, and ``deadlines`` the time when each group is due. ``record_router`` passes
  each record to the state of its group; ``description_router`` does so with descriptions.
- ``tracked_group`` is the base class of these states; ``tracker_context`` holds what all groups of a tracker share.
- ``build_view`` builds the `GroupView`.
- ``completed_generation``: one generation, as its record shows it. ``observed_record``: converts a record into an
  observation.
- ``cluster_topics``: the cluster's topics. ``log_replay``: replays the retained records of a partition through a
  tracker.

``classic`` and ``epoch`` never import each other; both import ``rebalance``.
"""
