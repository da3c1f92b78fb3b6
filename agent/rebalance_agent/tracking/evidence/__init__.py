"""What shows when members worked and stopped, beside the records of generations.

- ``member_reports``: what the members' processes reported. ``poll_evidence``: when ListGroups first saw a rebalance.
- ``commit_times``: when partitions were committed. ``last_seen``: when departed members were last active.
- ``departures``: how members departed, by their commits. ``known_times``: the values of all these.
- ``doubly_owned``: partitions that a removed member held, by its report, while others owned them.
- ``owned_at_join``: what members said they owned when they joined.
- ``coordinators``: new coordinators, which start the members' sessions anew. ``late_commits``: late answers of theirs.

Not here: what follows from it for one rebalance (``rebalance``) or over several (``patterns``).
"""
