"""Frozen values that all other packages share: groups, subscriptions, assignments, rebalances, events.

The package has no side effects, clients or clock, and imports only ``errors``.

- ``group``: types, states, members and snapshots of groups; ``epoch_groups``: facts of groups whose broker assigns.
- ``subscription``: input and output of assignors; ``assignment_quality``: how good an assignment is.
- ``partitions``: partitions by topic, and their text form; ``partition_ranges``: partitions that members claim.
- ``generation_diff``: changes between two generations; ``member_changes``: changes of members, their identity and name.
- ``episode``: trigger, phases and stall of a rebalance; ``rollout``: members replaced by a deploy.
- ``events``: the published events; ``group_event``: their common part; ``event_json``: converts events and other values
  to and from JSON.
- ``reported``: what sidecars and gateways report: where a member runs, what was done with seats.
- ``baseline``: normal stalls of a group by hour of the week.
"""
