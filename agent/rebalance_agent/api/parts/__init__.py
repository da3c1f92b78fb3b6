"""Shapes that are parts of the shapes in `api.shapes`.

- ``rebalance_parts``: parts of a rebalance; ``counter_parts``: the totals of a group.
"""
