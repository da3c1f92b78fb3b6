"""Decides which consumers take the seats of others in groups of consumers; it decides, and does nothing.

A *seat* is a static membership (KIP-345) that the gateway gives to a consumer which has no instance id of its own: its
JoinGroup is sent with one. When the consumer is restarted, its successor's JoinGroup is sent with the same instance id,
and in a stable group it gets the assignment of its predecessor at once, and the group does not rebalance.

Everything here is pure: no socket, no thread, no clock (times are arguments), no message of ``kafka``. `GroupSeats`
takes the events of one group and returns acts as values; the caller carries them out, as the gateway's package
``seating`` does.

The inputs, and the decision about each:

| input | decision |
| --- | --- |
| JoinGroup with a member id or an own instance id, below v5, of Streams, unreadable, ... | forward as it is |
| JoinGroup of a newcomer: a seat of an equal consumer is free | claim its lock; join with its instance id |
| ... the free seat's consumer differed | give that seat up; join with a new one |
| ... no seat is free | hold: until one is, or the hold and the next admission time are over; then join with a new one |
| ... that client does not wait until the next admission time | join after the hold |
| ... the group is empty or rebalances anyway, or the consumer only lost its membership | join with a new seat at once |
| ... the lock does not answer, was not confirmed lately, or the client waits no longer | forward as it is |
| ... a client with its id closed its connection lately while it was held | forward as it is |
| response to a JoinGroup with our instance id: an error | send the client's own JoinGroup instead |
| ... the coordinator moved or loads (14, 15, 16) | show it: the client's own would have got the same |
| response with FENCED_INSTANCE_ID to a seated client's own frame | show UNKNOWN_MEMBER_ID |
| LeaveGroup, an equal newcomer waits, or a restart costs less than two rebalances | answer it; keep the seat |
| ... the group was not described lately | describe it first: it may have another protocol by now |
| ... in a rebalance, or by poll limit or unsubscribe() | forward as it is |
| ... otherwise | describe the group: does one wait at another gateway? Keep the seat, or forward as it is |
| REBALANCE_IN_PROGRESS in any response | give up all vacant seats; let held newcomers join this rebalance |
| no member took the vacant seat in time, or its consumer continues to live | give it up |
| heartbeat for a vacant member: UNKNOWN_MEMBER_ID | a successor has the seat: forget it |
| a process closed all its connections | a second later a newcomer may take its seats |
| ... and none did within the crash window | give them up |
| ... and opens one again | it was alive: nothing |
| ... and joins as a newcomer | it is the successor: it may take them at once |
| a newcomer's client is gone when it gets a seat | the next newcomer takes it, or give it up |
| a request that the coordinator did not accept | nothing: any client may name any member |
| the lock is lost | nothing for its member; no newcomer joins by it |
| topics of a leader changed that returned by a JoinGroup below v9 | show it REBALANCE_IN_PROGRESS once |
| restart of the gateway | vacant seats are kept for the rest of their time; others are left alone |
| ... and a request of a member is accepted, or a heartbeat for a vacant one | its seat is known again |
| ... and none is, until the session is over | forget the seat |
| seats are switched off | held JoinGroups are forwarded, vacant seats given up; members continue |

In groups of KIP-848 the first heartbeat of a member stands for its JoinGroup, and one with epoch -1 for a LeaveGroup:
*answer it* means that the coordinator gets epoch -2 instead. A vacant seat needs no heartbeat there, and stays when the
group rebalances; a successor joins once its predecessor has left with epoch -2, which the gateway sends for one that
was killed.

A returning member joins in a stable or preparing group only: in a completing one it would cause one more rebalance.
A kept seat's lock is released, so that a newcomer of any gateway may take it (`locks`).

*Give up* is a LeaveGroup with member id and instance id: the coordinator refuses it once a successor has the seat, so
it can be sent at any time. The lock only keeps two newcomers from taking one seat in turn; it does not guard commits.
That is the coordinator alone: it refuses the id of the seat's former member.

- ``group_seats``: the state machine of one group; ``gateway_seats``: all groups, the mode, the switch.
- ``locks``: the locks of seats between gateways, by a helper group; ``SeatLocks`` answers the acts about locks.
- ``rules``: which consumers may have a seat or take one over, waiting times, errors that clients get, limits.
- ``held_joins``: newcomers that wait; ``impatient_clients``: those that do not; ``free_seats``: the seats they find;
  ``seated_joins``: JoinGroups that were sent with an instance id.
- ``member_leaves``: the LeaveGroups of seated members; ``seat_keeper``: vacant seats, kept by heartbeats, and given up.
- ``outcomes``: checks whether acts kept their promise, and counts what they spared.
- ``predicted_seats``: mode ``observe``, in which acts are counted and not carried out.
- ``seat``: a seat's state; ``saved_seats``: the seats that outlive a restart; ``seat_list``: all of them as JSON.
- ``group_facts``: phase, locks, other gateways' seats; ``seat_acts``: the acts.
"""

from __future__ import annotations

from rebalance_agent.gateway.seats.gateway_seats import GatewaySeats
from rebalance_agent.gateway.seats.group_seats import GroupSeats
from rebalance_agent.gateway.seats.rules.seat_settings import SeatMode, SeatSettings

__all__ = ["GatewaySeats", "GroupSeats", "SeatMode", "SeatSettings"]
