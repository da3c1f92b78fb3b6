"""The tracker: a pure state machine per group. Observations go in; events and group views come out.

No I/O, no threads, no clock: time is an argument. Eight packages and the files that tie them together:

- ``classic``: groups whose members assign (``GroupMetadata`` records).
- ``epoch``: consumer, share and streams groups, whose coordinator assigns (KIP-848, KIP-932, KIP-1071).
- ``members``: the members of a group as its view shows them, and the quality of their assignment.
- ``rebalance``: one rebalance of either type: episodes, stall, triggers, phases, counters, settling.
- ``evidence``: reports, polls, commits and changes of coordinator, which show when members worked and stopped.
- ``patterns``: what shows only over several rebalances: flapping, rollouts, replacements, skew by load.
- ``memory``: how many bytes the states of all groups take.
- ``lag``: lag of groups, and moved partitions that catch up; the polls use it, and no group's state.
- ``tracker`` is the entry point. ``observations`` lists its inputs, ``views`` its output.
- ``groups`` holds every group, ``deadlines`` when each is due, ``record_router`` passes records to a group's state.
- ``tracked_group`` is the base of both states; ``tracker_context`` is what all groups of a tracker share.
- ``build_view`` makes the `GroupView`; ``polled_group`` makes it for groups known only from DescribeGroups.
- ``completed_generation``: one generation as its record shows it; ``observed_record``: a record as an observation.
- ``cluster_topics``: the cluster's topics; ``log_replay``: feeds the retained records of a partition to a tracker.

``classic`` and ``epoch`` never import each other; both import ``rebalance``.
"""
