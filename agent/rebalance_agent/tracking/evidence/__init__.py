"""Evidence for the times when members worked and stopped, besides the records of generations.

- ``member_reports``: what the members' processes reported; ``kept_reports``: their memory, and its bounds.
- ``reported_times``: when members stopped and resumed in one rebalance, by these reports.
- ``poll_evidence``: when ListGroups first saw a rebalance.
- ``commits``: when partitions were committed, and how late these times may be.
- ``last_seen``: when departed members were last active.
- ``departures``: how members departed, by their commits. ``known_times``: the values of all these.
- ``doubly_owned``: partitions that a removed member held, by its report, while others owned them.
- ``owned_at_join``: the partitions that members kept, and that they owned when they joined, by their subscriptions.
- ``seat_occupants``: the consumers that members are served for, by gateways' reports.
- ``unrecorded_losses``: partitions that members may have lost and got back without a record. ``given_together``: those
  that a member got in the same callback.
- ``coordinators``: new coordinators, which restart the members' sessions. ``late_commits``: their late answers.

Not here: what follows from it for one rebalance (``rebalance``) or over several (``patterns``).
"""
