"""Our strategies in groups of clients that know nothing of them, and what their frames tell of rebalances.

`GroupInterceptors` is one per gateway, its ``talk()`` one per connection. The relay calls six methods of it::

    talk.wants(head)                        whether this request is to be shown
    talk.observes(head)                     whether it is never changed, and so may pass if it is too large to be read
    await talk.request(head, frame, ask)    the frame to send to the broker instead
    talk.wants_answer(head)                 whether the answer to it is to be shown
    talk.response(head, frame)              the frame to send to the client instead
    talk.closed()                           the connection is gone

Nothing but `DecodeError` (a JoinGroup or SyncGroup that cannot be read) comes out of these; whatever goes wrong here,
the client's own bytes go on, and it is counted and logged.

- ``offering``: what a JoinGroup offers, and what is put before it; ``answering``: what the client is told.
- ``deciding``: the leader's part: partition counts asked for, our assignor run in a thread, in bounded time.
- ``seats``: what each member behind this gateway was given; ``recovering``: that, learnt again after a restart.
- ``presence``: a member's way through rebalances as its frames show it, told as events.
- ``epochs``: the same for members whose coordinator assigns (KIP-848).
- ``explain``: what would be rewritten for a group, in words.
"""

from __future__ import annotations

from rebalance_agent.gateway.group_rules import Rule, Rules, parse_rules
from rebalance_agent.gateway.groups.explain_rules import explain, stands_against
from rebalance_agent.gateway.groups.group_interceptor import GroupInterceptor, GroupInterceptors

__all__ = ["GroupInterceptor", "GroupInterceptors", "Rule", "Rules", "explain", "parse_rules", "stands_against"]
