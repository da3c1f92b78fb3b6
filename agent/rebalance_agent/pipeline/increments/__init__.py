"""Computes only the days of groups that new, late and revised events change.

- ``changed_events``: reads which rows of `events` changed since the last run.
- ``reach``: finds the days of groups whose rows depend on these events.
- ``group_days``: replaces the rows of these days.
- ``processed``: stores up to which version of `events` the tables are computed.
- ``increment``: does all of this in one run.
"""
