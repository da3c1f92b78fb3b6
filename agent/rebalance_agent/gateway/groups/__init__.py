"""Runs our strategies in groups of unmodified clients, and reports these groups' rebalances from their frames.

A gateway has one `GroupInterceptors`, and each connection has one `GroupInterceptor` (``for_connection()``). The relay
calls six methods of the `GroupInterceptor`::

    wants(head)                        whether this request must be read
    observes(head)                     whether it is never changed, and may pass unread if it is large
    await request(head, frame, ask)    the frame to send to the broker instead
    wants_answer(head)                 whether its response must be read
    response(head, frame)              the frame to send to the client instead
    closed()                           the connection was closed

These methods raise only `DecodeError`, for a JoinGroup or SyncGroup that cannot be read, and ConnectionError. After any
other error the client's own bytes are forwarded, and the error is counted and logged.

- ``group_interceptor``: passes each frame to the handler of its API; ``frame_handler``: the base class of the handlers;
  ``gateway_groups``: the state that all connections share.
- ``join_group``, ``sync_group``: the handlers that rewrite frames; ``observed_apis``, ``heartbeats`` (KIP-848,
  KIP-932 and KIP-1071): the handlers that only read frames.
- ``offered_protocols``: adds our strategy before the assignors that a JoinGroup offers; ``client_answers``: removes our
  strategy from the responses to the client.
- ``leading``: computes the group leader's assignment with our assignor.
- ``member_entries``: stores each member's offer and assignment; ``assignment_recovery``: recovers assignments after a
  restart of the gateway.
- ``client_membership``: tracks one member's rebalances from its frames; ``client_events``: builds the events of these
  rebalances; ``callback_times``: finds the durations of callbacks in the metrics that clients push.

This package reads frames with ``gateway.transport`` and opens no connections.
"""

from __future__ import annotations

from rebalance_agent.gateway.group_rules import Rule, Rules, parse_rules
from rebalance_agent.gateway.groups.group_interceptor import GroupInterceptor, GroupInterceptors

__all__ = ["GroupInterceptor", "GroupInterceptors", "Rule", "Rules", "parse_rules"]
