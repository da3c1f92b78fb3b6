"""Carries out the decisions of `gateway.seats` for groups of consumers, on the connections of their clients.

A gateway has one `SeatingGroups`. Each connection has one `SeatFrames`, which processes each frame after the handlers
of `gateway.groups`. Frames of groups without a rule are not changed.

The gateway has no login of its own for this: it sends its requests for a seat on clients' connections, and therefore
with the clients' permissions. If a client disconnects and its seat is kept, the broker's side of the connection stays
open for heartbeats. Each held JoinGroup costs one suspended coroutine. One task (`SeatingGroups.run`) handles all
timeouts.

- ``seat_frames``: handles the frames of classic groups on one connection; ``frames``: handles the frames of KIP-848
  groups; ``newcomers``: reads the properties of a newcomer from its JoinGroup or first heartbeat.
- ``seating_groups``: all groups of the gateway; ``shared_parts``: the objects that these groups share; ``group_names``:
  the groups that no longer get seats.
- ``acting_group``: a group with mode ``on``; ``observed_group``: a group with mode ``observe``; ``seated_group``: their
  common interface. ``act_carrier``: carries out the actions on one group's seats.
- ``seat_sharing``: shares the seats of one group with other gateways, with the help of locks.
- ``connections``: sends requests to coordinators on clients' connections.
- ``leases``: stores the locks as Lease objects in Kubernetes' API server, if the group's rule chooses this.
- ``switch_file``: reads the file that switches off the seats of all groups; ``seats_file``: saves the seats in a file,
  from which the next gateway restores them.
- ``act_report``: logs and counts each act; ``acts``: publishes acts as events, and computes their costs and savings.
"""

from __future__ import annotations

from rebalance_agent.gateway.seating.seat_frames import SeatFrames
from rebalance_agent.gateway.seating.seating_groups import SeatingGroups

__all__ = ["SeatFrames", "SeatingGroups"]
