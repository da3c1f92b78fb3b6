"""Carries out the decisions of `gateway.seats` for groups of consumers, on the connections of their clients.

A gateway has one `SeatingGroups`, and each connection one `SeatFrames`, which gets each frame after the handlers of
`gateway.groups`. Frames of groups without a rule are not changed.

The gateway has no login of its own for this: its requests for a seat use clients' connections, and therefore their
permissions. When a client whose seat is kept disconnects, the broker's side of its connection stays open for the
heartbeats. A held JoinGroup costs one suspended coroutine; one task (`SeatingGroups.run`) handles all timeouts.

- ``seat_frames``: handles one connection's frames of classic groups; ``frames``: also handles those of KIP-848 groups;
  ``newcomers``: the consumer as its JoinGroup or first heartbeat describes it.
- ``seating_groups``: all groups of the gateway; ``shared_parts``: the objects that they share; ``group_names``: the
  groups that no longer have seats.
- ``acting_group``: a group with mode ``on``; ``observed_group``: a group with mode ``observe``; ``seated_group``: their
  common interface. ``act_carrier``: carries out the actions on one group's seats.
- ``seat_sharing``: exchanges the seats of one group with other gateways, by locks.
- ``connections``: clients' connections, on which requests to coordinators are sent.
- ``leases``: locks in Kubernetes' API server, if the rule chooses them.
- ``switch_file``: a file that switches off the seats of all groups; ``seats_file``: a file with the seats, for the next
  gateway.
- ``act_report``: a log line and a metric for each act; ``acts``: events of acts, and their costs and savings.
"""

from __future__ import annotations

from rebalance_agent.gateway.seating.seat_frames import SeatFrames
from rebalance_agent.gateway.seating.seating_groups import SeatingGroups

__all__ = ["SeatFrames", "SeatingGroups"]
