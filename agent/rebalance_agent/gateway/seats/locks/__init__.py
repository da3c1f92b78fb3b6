"""The locks of seats: a compare-and-set with expiry between the gateways of one group, by a helper group of KIP-848.

The helper group of the group orders is rebalance-agent.seats.orders, a dot, and a few letters, by which it has the
coordinator of orders: so clients' connections to that one reach it, with their permissions (Read on the helper group).
A lock is a static member of it, without a subscription, whose instance id is the seat's: the coordinator lets one
member at a time have it. It needs ``group.version`` >= 1.

| heartbeat of the helper group | answer | meaning |
| --- | --- | --- |
| epoch 0, new member id, instance id | NONE | the lock is granted, until the member's session ends (45 s) |
| ... | UNRELEASED_INSTANCE_ID | a member has it: another one, or this one, by a claim that was not answered |
| the member's epoch | NONE | the lock is confirmed: the session begins again |
| ... | UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, GROUP_ID_NOT_FOUND | another member has it, or the session ended |
| ... | FENCED_MEMBER_EPOCH | the epoch is not the coordinator's: the lock ends with the session |
| epoch -2, member id and instance id | NONE | free for the next claim at once; still described, with epoch -2 |
| ... by a member that has it no more | FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID | nothing happens to the holder |

So the release after a claim that was granted but not answered gets NONE, and shows that the lock was ours.

Epoch -1 frees a lock as well, but the member is described no more, and the group gets a new epoch: -2 is used.

A lock has a *note* for other gateways, its member's rack id: rack ids mean nothing to a member without a subscription.

| what a gateway does | locks |
| --- | --- |
| it keeps a vacant seat | it *offers* it: claims the lock with a note of the seat's last member, and releases it |
| it has newcomers that wait | it has a lock of its own, whose note has their number by kind |
| a newcomer takes a seat that is offered | it claims the lock, asks if the seat is still free, joins, and releases it |

Only an offered seat may be taken by another gateway, and only while the member that the note names is in the group.
A lock that has expired offers nothing: its gateway may be gone, and the member live. No lock is needed for a seat that
was never offered, so that a gateway whose locks fail does what one without locks does.

What holds: at most one gateway counts a lock as its own, since it does so for `SeatSettings.lock_fresh_seconds`
(10 s) from when it *sent* a confirmed heartbeat, and the coordinator for 45 s from when that arrived later.

What does not hold: that a JoinGroup which was sent under a lock arrives while it lasts (a paused gateway, a slow
network); and nothing holds if the session timeout of the helper group is set below 10 s, if clocks run at different
rates by that much, or if another client with Read on the helper group ends the member. A lock spares turns; safety is
the coordinator's check of member ids.

Pure, as all of `gateway.seats`: requests are values to be sent, answers values that are passed back.

- ``seat_locks``: what the seats of one group ask for, offers, newcomers that wait; ``lock_notes``: their text.
- ``group_locks``: the state machine of one group's locks; ``lock_acts``: requests, answers, changes.
- ``lock_errors``: what an error means.
- ``leases``: locks as ``Lease`` objects of Kubernetes instead, with the same answers.
- ``lock_frames``: the bytes of requests and answers, and the locks of all gateways from a description.
"""

from __future__ import annotations

from rebalance_agent.gateway.seats.locks.group_locks import GroupLocks
from rebalance_agent.gateway.seats.locks.lock_acts import LockAnswer, LockBeat, LockChange, MemberCheck
from rebalance_agent.gateway.seats.locks.seat_locks import SeatLocks

__all__ = ["GroupLocks", "LockAnswer", "LockBeat", "LockChange", "MemberCheck", "SeatLocks"]
