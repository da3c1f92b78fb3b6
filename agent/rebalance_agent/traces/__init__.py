"""Events as spans of traces: one trace for each generation or epoch of a group. Pure.

Every process derives the ids from the cluster, the group and the generation, so an observer, sidecars and gateways
write one trace without asking each other.

- ``event_traces``: the entry, which takes any event.
- ``group_spans``: the spans of a group's events; ``member_spans``: those of its members'.
- ``span``: a span as a value, and the ids.
"""
