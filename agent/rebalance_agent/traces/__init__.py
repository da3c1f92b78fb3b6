"""Converts events to spans of traces: one trace for each generation or epoch of a group. Pure.

Every process derives the ids from the cluster, the group and the generation, so an observer, sidecars and gateways
write one trace without coordination.

- ``event_traces``: the entry point, which accepts any event.
- ``group_spans``: builds spans from a group's events; ``member_spans``: from members' events; ``rollout_spans``: from
  rollouts, with links in both directions.
- ``span``: defines a span as a value, and derives the ids of traces and spans.
"""
