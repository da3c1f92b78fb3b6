"""Evidence, besides the records of generations, for the times when members worked and stopped.

- ``member_reports``: what the members' processes reported; ``kept_reports``: stores the reports in bounded memory.
- ``reported_times``: when members stopped and resumed in one rebalance, by these reports.
- ``poll_evidence``: when ListGroups first saw a rebalance.
- ``commits``: when partitions were committed, and how late these times may be.
- ``last_seen``: when departed members were last active.
- ``departures``: how members departed, by their commits. ``known_times``: the value types that these modules share.
- ``doubly_owned``: partitions that, by its own report, a removed member held while others owned them.
- ``owned_at_join``: the partitions that members kept, and that they owned when they joined, by their subscriptions.
- ``seat_occupants``: the consumers that occupy members' seats, by gateways' reports.
- ``unrecorded_losses``: partitions that members may have lost and got back without a record. ``given_together``:
  partitions that a member got in the same callback.
- ``coordinators``: changes of coordinator, which restart the members' sessions. ``late_commits``: bounds of times while
  coordinators answer late.

Conclusions for one rebalance are in ``rebalance``, those over several rebalances in ``patterns``.
"""
