"""The memory that the states of groups take.

- ``state_budget`` bounds it; ``recent_names``: the groups that are over a budget, this one or that of work.
"""
