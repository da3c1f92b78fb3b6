"""Evidence, besides the records of generations, for the times when members worked and stopped.

- ``member_reports``: what the members' processes reported; ``kept_reports``: stores the reports in bounded memory.
- ``reported_times``: when members stopped and resumed in one rebalance, according to these reports.
- ``poll_evidence``: when ListGroups first returned a rebalance.
- ``commits``: when partitions were committed, and how late these times may be.
- ``last_seen``: when departed members were last active.
- ``departures``: how members departed, judged from their commits. ``known_times``: value types that these modules
  share.
- ``doubly_owned``: partitions that a removed member, as it reports itself, held while other members owned them.
- ``owned_at_join``: the partitions that members kept, and the partitions that their subscriptions list as owned.
- ``seat_occupants``: the consumers that occupy members' seats, according to gateways' reports.
- ``unrecorded_losses``: partitions that members may have lost and got back without a record. ``given_together``:
  partitions that a member got in the same callback.
- ``coordinators``: changes of coordinator, which restart the members' sessions. ``late_commits``: bounds for times at
  which coordinators answer late.

Package ``rebalance`` draws conclusions about one rebalance, ``patterns`` about several rebalances.
"""
