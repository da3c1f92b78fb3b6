"""Bounds the memory that the states of groups use.

- ``state_budget``: the budget in bytes. ``recent_names``: names groups that exceed this budget or the budget for work.
"""
