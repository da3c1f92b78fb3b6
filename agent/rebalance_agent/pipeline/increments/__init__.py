"""Computes only the days of groups that new, late and revised events change.

`changed_events` reads which rows of `events` changed since the last run, `reach` finds the days of groups whose rows
depend on these, `group_days` replaces them, and `processed` stores up to which version of `events` this is done.
"""
